"""`/v1/webhook_endpoints` and `/v1/webhook_deliveries`: what we tell others."""

import base64
import hashlib
import hmac
from datetime import timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from anchorhold import crypto, objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.ids import DELIVERY, ENDPOINT
from anchorhold.domain.refusals import Refusal, WebhookCode
from anchorhold.domain.scope import Scope
from anchorhold.domain.webhook import DeliveryState, read
from anchorhold.postman import SigningPostman, place_of_secret
from anchorhold.store import endpoints, messages, views_webhooks
from anchorhold.store.endpoints import Endpoint
from anchorhold.web.api.answers import listed
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers, listing
from anchorhold.web.api.once import Act, Answer, once
from anchorhold.web.api.queries import Listed, Page, Strict, page_of
from anchorhold.webhooks.asked import require_types, require_url
from anchorhold.webhooks.sender import Sender

OVERLAP_HOURS: Final = 24
Name = Annotated[str, Path(max_length=200, pattern="^[^\\x00]+$", description="Its id.")]


class EndpointBody(Strict):
    """Who is to be told of what."""

    url: str = Field(max_length=500, pattern="^[!-~]+$", examples=["https://example.com/hook"])
    types: list[str] = Field(
        default_factory=list[str], max_length=50, description="All of them without it."
    )
    description: str = Field(default="", max_length=200, pattern="^[^\\x00]*$")


class RotateBody(Strict):
    """How the change goes."""

    hours: int = Field(
        default=OVERLAP_HOURS, ge=0, le=168, description="How long the old one signs as well."
    )


class DeliveriesQuery(Page):
    """Which deliveries."""

    endpoint: str | None = Field(default=None, max_length=200, pattern="^[^\\x00]+$")
    state: DeliveryState | None = None


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["webhook_endpoints"])
    reads = Annotated[Caller, may(api, Noun.WEBHOOK_ENDPOINTS, Access.READ)]
    writes = Annotated[Caller, may(api, Noun.WEBHOOK_ENDPOINTS, Access.WRITE)]
    _add_reads(api, routes, reads)
    _add_writes(api, routes, writes)
    return routes


def _add_reads(api: Api, routes: APIRouter, reads: Any) -> None:
    @routes.get("/webhook_endpoints", responses=listing("webhook_endpoint"))
    async def list_webhook_endpoints(request: Request, caller: reads, query: Listed) -> Any:
        """The endpoints, newest first."""
        rows = list(reversed(await endpoints.all_of(api.db, caller.scope)))
        after = query.starting_after
        behind = [row for row in rows if after is None or row.id < after]
        shown = [objects.endpoint(row) for row in behind[: query.limit]]
        return listed(request, shown, more=len(behind) > query.limit)

    @routes.get("/webhook_endpoints/{endpoint}", responses=answers("webhook_endpoint"))
    async def retrieve_webhook_endpoint(caller: reads, endpoint: Name) -> Any:
        """One endpoint, and whether it is switched off."""
        return objects.endpoint(await _the_endpoint(api, caller.scope, endpoint))

    @routes.get("/webhook_deliveries", responses=listing("webhook_delivery"))
    async def list_webhook_deliveries(
        request: Request, caller: reads, query: Annotated[DeliveriesQuery, Query()]
    ) -> Any:
        """What is on its way, has arrived or has not, newest first."""
        named = query.endpoint
        to = (await _the_endpoint(api, caller.scope, named)).id if named else None
        rows, more = await page_of(
            query,
            lambda after, limit: views_webhooks.deliveries(
                api.db, caller.scope, endpoint_id=to, state=query.state, after=after, limit=limit
            ),
        )
        return listed(request, [objects.delivery(row) for row in rows], more=more)


def _add_writes(api: Api, routes: APIRouter, writes: Any) -> None:
    @routes.post("/webhook_endpoints", responses=answers("webhook_endpoint", posts=True))
    async def create_webhook_endpoint(
        request: Request, caller: writes, body: EndpointBody
    ) -> Response:
        """Tell this address of what happens from now on; its `secret` is shown only here."""
        require_types(body.types)
        require_url(body.url, livemode=caller.scope.livemode)
        return await once(api, caller, request, body, lambda act: _create(api, act, body))

    @routes.post(
        "/webhook_endpoints/{endpoint}/rotate", responses=answers("webhook_endpoint", posts=True)
    )
    async def rotate_webhook_secret(
        request: Request, caller: writes, endpoint: Name, body: RotateBody
    ) -> Response:
        """Sign with a new `secret`, shown only here; the old one signs beside it for a while."""
        return await once(api, caller, request, body, lambda act: _rotate(api, act, endpoint, body))

    @routes.post(
        "/webhook_endpoints/{endpoint}/test", responses=answers("webhook_test", posts=True)
    )
    async def check_webhook_endpoint(request: Request, caller: writes, endpoint: Name) -> Response:
        """Post one signed message of type `webhook.test` now, and say what was answered."""
        return await once(api, caller, request, None, lambda act: _test(api, act, endpoint))

    @routes.post(
        "/webhook_endpoints/{endpoint}/enable", responses=answers("webhook_endpoint", posts=True)
    )
    async def enable_webhook_endpoint(request: Request, caller: writes, endpoint: Name) -> Response:
        """Switch it on again."""
        return await once(api, caller, request, None, lambda act: _enable(api, act, endpoint))

    @routes.post("/webhook_deliveries/{delivery}/resend", responses=answers("resend", posts=True))
    async def resend_webhook_delivery(request: Request, caller: writes, delivery: Name) -> Response:
        """Send one message once more, under the same id."""
        return await once(api, caller, request, None, lambda act: _resend(act, delivery))


async def _the_endpoint(api: Api, scope: Scope, asked: str) -> Endpoint:
    for row in await endpoints.all_of(api.db, scope):
        if row.id == asked:
            return row
    raise Refusal(WebhookCode.ENDPOINT_NOT_FOUND, id=asked[:60])


def secret_of(api: Api, act: Act) -> str:
    """A signing secret that only this request has, whoever works on it."""
    words = f"webhook secret of {act.scope.account_id} {act.scope.mode} {act.request_id}"
    digest = hmac.digest(api.app.secret_key, words.encode(), hashlib.sha256)
    return "whsec_" + base64.b64encode(digest).decode()


async def _create(api: Api, act: Act, body: EndpointBody) -> Answer:
    """Made now, or found made by this request before: id and secret are the request's."""
    own, secret = act.own_id(ENDPOINT), secret_of(api, act)
    made = await endpoints.add(
        act.deps.db,
        act.scope,
        own,
        url=body.url,
        types=tuple(dict.fromkeys(body.types)),
        description=body.description,
        secret=crypto.seal(api.app.secret_key, secret, *place_of_secret(act.scope, own)),
    )
    if made is None:
        there = [row for row in await endpoints.all_of(api.db, act.scope) if row.id == own]
        if not there:
            raise Refusal(WebhookCode.ENDPOINT_EXISTS, url=body.url)
        made = there[0]
    return Answer({**objects.endpoint(made), "secret": secret})


async def _rotate(api: Api, act: Act, name: str, body: RotateBody) -> Answer:
    row = await _the_endpoint(api, act.scope, name)
    secret, place = secret_of(api, act), place_of_secret(act.scope, row.id)
    until = await endpoints.rotate(
        act.deps.db,
        act.scope,
        row.id,
        secret=crypto.seal(api.app.secret_key, secret, *place),
        overlap_s=timedelta(hours=body.hours).total_seconds(),
    )
    if until is None and not await _is_ours(api, act, row, secret):
        raise Refusal(WebhookCode.SECRET_OVERLAPS, id=row.id, until=row.old_secret_until)
    shown = objects.endpoint(await _the_endpoint(api, act.scope, name))
    return Answer({**shown, "secret": secret})


async def _is_ours(api: Api, act: Act, row: Endpoint, secret: str) -> bool:
    """The secret that signs is the one that this request made, when it was worked on before."""
    due = await messages.trial(act.deps.db, act.scope, row.id) if act.again else None
    if due is None:
        return False
    place = place_of_secret(act.scope, row.id)
    return crypto.unseal(api.app.secret_key, due.secret, *place) == secret


async def _test(api: Api, act: Act, name: str) -> Answer:
    row = await _the_endpoint(api, act.scope, name)
    due = await messages.trial(act.deps.db, act.scope, row.id)
    if due is None:
        raise Refusal(WebhookCode.ENDPOINT_NOT_FOUND, id=row.id)
    sender = Sender(api.app.settings.webhook_private_networks)
    try:
        sent = await SigningPostman(api.app.secret_key, sender).post(act.scope, due)
    finally:
        await sender.close()
    return Answer(
        {
            "object": "webhook_test",
            "id": row.id,
            "said": str(sent.said),
            "took_ms": sent.took_ms,
            "detail": sent.detail,
            "rule": read(sent.said).id,
        }
    )


async def _enable(api: Api, act: Act, name: str) -> Answer:
    row = await _the_endpoint(api, act.scope, name)
    await endpoints.switch_on(act.deps.db, act.scope, row.id)
    return Answer(objects.endpoint(await _the_endpoint(api, act.scope, name)))


async def _resend(act: Act, name: str) -> Answer:
    delivery = DELIVERY.parse(name)
    if await messages.resend(act.deps.db, act.scope, delivery) is None:
        raise Refusal(WebhookCode.DELIVERY_NOT_RESENT, id=name)
    return Answer({"object": "resend", "id": delivery, "waiting": True})

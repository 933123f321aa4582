"""`/v1/notices`: what needs a person, and how it was dealt with."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from anchorhold import objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import notices as resolving
from anchorhold.store import views_notices
from anchorhold.store.views_notices import NoticeView
from anchorhold.web.api.answers import listed
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers, listing
from anchorhold.web.api.once import Act, Answer, once
from anchorhold.web.api.queries import Page, Strict, page_of

Name = Annotated[str, Path(max_length=200, pattern="^[^\\x00]+$", description="Its id.")]


class NoticesQuery(Page):
    """Which notices."""

    resolved: bool = Field(default=False, description="Those that were dealt with.")


class ResolveBody(Strict):
    """How it was dealt with."""

    resolution: str = Field(default="", max_length=500, examples=["called the customer"])
    refund: bool = Field(default=False, description="Give back what was paid too much.")


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["notices"])
    reads = Annotated[Caller, may(api, Noun.NOTICES, Access.READ)]
    writes = Annotated[Caller, may(api, Noun.NOTICES, Access.WRITE)]

    @routes.get("/notices", responses=listing("notice"))
    async def list_notices(
        request: Request, caller: reads, query: Annotated[NoticesQuery, Query()]
    ) -> Any:
        """What needs a person, newest first."""
        rows, more = await page_of(
            query,
            lambda after, limit: views_notices.page(
                api.db, caller.scope, resolved=query.resolved, after=after, limit=limit
            ),
        )
        return listed(request, [objects.notice(row) for row in rows], more=more)

    @routes.get("/notices/{notice}", responses=answers("notice"))
    async def retrieve_notice(caller: reads, notice: Name) -> Any:
        """One notice: what happened, and what there is to do."""
        return objects.notice(await _the_notice(api, caller.scope, notice))

    @routes.post("/notices/{notice}/resolve", responses=answers("notice", posts=True))
    async def resolve_notice(
        request: Request, caller: writes, notice: Name, body: ResolveBody
    ) -> Response:
        """Say how it was dealt with, or give the money back, which resolves it.

        While Stripe's answer to the refund is missing the notice stays open: see `resolved_at`.
        """
        return await once(
            api,
            caller,
            request,
            body,
            lambda act: _resolve(api, act, notice, body),
            moves_money=body.refund,
        )

    return routes


async def _the_notice(api: Api, scope: Scope, name: str) -> NoticeView:
    found = await views_notices.one(api.db, scope, name)
    if found is None:
        raise Refusal(Code.NOTICE_NOT_FOUND, id=name[:60])
    return found


async def _resolve(api: Api, act: Act, notice: str, body: ResolveBody) -> Answer:
    """Resolved now, or found resolved by this request before; giving back can be repeated."""
    found = await _the_notice(api, act.scope, notice)
    by = found.resolved_by or ""
    if not by.endswith(act.request_id):
        if body.refund:
            await resolving.give_back(act.deps, act.scope, notice, body.resolution)
        else:
            await resolving.resolve(act.deps, act.scope, notice, body.resolution)
    return Answer(objects.notice(await _the_notice(api, act.scope, notice)))

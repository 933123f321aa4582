"""`anchorhold webhook`: what we tell others, where to, and what became of it."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from anchorhold import crypto
from anchorhold.cli import objects
from anchorhold.cli.asking import ask
from anchorhold.cli.call import TIMES, Call, noun, verb
from anchorhold.cli.deliveries import listing
from anchorhold.cli.output import Column, Listing, line, say, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.ids import DELIVERY, ENDPOINT, DeliveryId
from anchorhold.domain.refusals import Refusal, WebhookCode
from anchorhold.domain.webhook import DeliveryState, read
from anchorhold.postman import SigningPostman, place_of_secret
from anchorhold.store import endpoints, messages
from anchorhold.store.endpoints import Endpoint
from anchorhold.webhooks import signing
from anchorhold.webhooks.asked import require_types, require_url
from anchorhold.webhooks.sender import Sender

app = noun(
    "What we tell others: endpoints, and every message on its way.",
    "anchorhold webhook add https://example.com/anchorhold",
    "anchorhold webhook deliveries --state waiting",
)

OVERLAP_HOURS = 24


@verb(
    app,
    "add",
    "anchorhold webhook add https://example.com/anchorhold",
    "anchorhold webhook add https://example.com/paid --type invoice.paid",
)
async def add(
    call: Call,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where messages are posted to.")],
    *,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="Only this type; again for more. All of them without it."),
    ] = None,
    description: Annotated[str, typer.Option("--description", help="For people.")] = "",
) -> None:
    """Tell an endpoint of what happens from now on; its signing secret is shown once."""
    wanted = tuple(dict.fromkeys(types or ()))
    require_types(wanted)
    require_url(url, livemode=call.livemode)
    async with session(call) as desk:
        secret = signing.new_secret()
        (new,) = desk.db.new_ids(ENDPOINT, 1)
        made = await endpoints.add(
            desk.db,
            desk.scope,
            new,
            url=url,
            types=wanted,
            description=description,
            secret=crypto.seal(desk.app.secret_key, secret, *place_of_secret(desk.scope, new)),
        )
        if made is None:
            raise Refusal(WebhookCode.ENDPOINT_EXISTS, url=url)
        _show(call, desk, made, secret)


@verb(app, "list", "anchorhold webhook list", "anchorhold webhook list --output json", listed=True)
async def list_(call: Call) -> None:
    """List the endpoints, and which are switched off."""
    async with session(call) as desk:
        rows = await endpoints.all_of(desk.db, desk.scope)
        await show_list(call, _endpoints(desk, rows))


def _endpoints(desk: Session, rows: list[Endpoint]) -> Listing[Endpoint]:
    """An account has a handful of them."""

    async def fetch(after: str | None, limit: int) -> list[Endpoint]:
        return [row for row in rows if after is None or row.id > after][:limit]

    async def total() -> int:
        return len(rows)

    return Listing(
        again="anchorhold webhook list",
        columns=(
            Column("id", lambda row: row.id),
            Column("url", lambda row: row.url),
            Column("types", lambda row: ", ".join(row.types) or "all", from_width=120),
            Column("state", _state),
            Column("added", lambda row: desk.when.at(row.created_at), from_width=100),
        ),
        id_of=lambda row: row.id,
        to_object=objects.endpoint,
        fetch=fetch,
        total=total,
        empty="Nobody is told of anything: anchorhold webhook add URL",
    )


@verb(app, "rotate", "anchorhold webhook rotate whe_…", "anchorhold webhook rotate whe_… --hours 1")
async def rotate(
    call: Call,
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id.")],
    *,
    hours: Annotated[
        int,
        typer.Option("--hours", min=0, max=168, help="How long the old secret signs as well."),
    ] = OVERLAP_HOURS,
) -> None:
    """Sign with a new secret, which is shown once; the old one signs beside it for a while."""
    async with session(call) as desk:
        row = await _the_endpoint(desk, endpoint)
        secret = signing.new_secret()
        sealed = crypto.seal(desk.app.secret_key, secret, *place_of_secret(desk.scope, row.id))
        overlap_s = timedelta(hours=hours).total_seconds()
        if not await endpoints.rotate(
            desk.db, desk.scope, row.id, secret=sealed, overlap_s=overlap_s
        ):
            raise Refusal(WebhookCode.SECRET_OVERLAPS, id=row.id, until=row.old_secret_until)
        _show(call, desk, await _the_endpoint(desk, endpoint), secret)


@verb(app, "test", "anchorhold webhook test whe_…", "anchorhold webhook test whe_… --output json")
async def test(
    call: Call, endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id.")]
) -> None:
    """Post one signed message of type `webhook.test` now, and show the answer."""
    async with session(call) as desk:
        row = await _the_endpoint(desk, endpoint)
        due = await messages.trial(desk.db, desk.scope, row.id)
        if due is None:
            raise Refusal(WebhookCode.ENDPOINT_NOT_FOUND, id=endpoint)
        sender = Sender(desk.app.settings.webhook_private_networks)
        try:
            sent = await SigningPostman(desk.app.secret_key, sender).post(desk.scope, due)
        finally:
            await sender.close()
        rule = read(sent.said)
        data: objects.Object = {
            "object": "webhook_test",
            "id": row.id,
            "said": str(sent.said),
            "took_ms": sent.took_ms,
            "detail": sent.detail,
            "rule": rule.id,
        }

        def screen() -> None:
            line("Answer", f"{sent.said}, after {sent.took_ms} ms: {rule.because}")
            line("", sent.detail[:200])

        show_one(call, row.id, data, screen)


@verb(app, "enable", "anchorhold webhook enable whe_…", "anchorhold webhook enable URL -o json")
async def enable(
    call: Call, endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id.")]
) -> None:
    """Switch an endpoint on again; what it missed is sent by `webhook replay`."""
    async with session(call) as desk:
        row = await _the_endpoint(desk, endpoint)
        if await endpoints.switch_on(desk.db, desk.scope, row.id) is None:
            say(f"{row.id} was on already.")
        _show(call, desk, await _the_endpoint(desk, endpoint), None)


@verb(app, "remove", "anchorhold webhook remove whe_…", "anchorhold webhook remove whe_… --yes")
async def remove(
    call: Call,
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Tell an endpoint nothing more; what waits for it is dropped."""
    async with session(call) as desk:
        row = await _the_endpoint(desk, endpoint)
        ask(f"remove {row.url}, and drop what waits for it", yes=yes)
        if await endpoints.remove(desk.db, desk.scope, row.id) is None:
            raise Refusal(WebhookCode.ENDPOINT_NOT_FOUND, id=endpoint)
        _show(call, desk, row, None)


@verb(
    app,
    "deliveries",
    "anchorhold webhook deliveries",
    "anchorhold webhook deliveries --endpoint whe_… --state failed",
    listed=True,
)
async def deliveries(
    call: Call,
    *,
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Only to this one.")] = None,
    state: Annotated[DeliveryState | None, typer.Option("--state", help="Only these.")] = None,
) -> None:
    """List what is on its way, has arrived or has not, newest first."""
    async with session(call) as desk:
        to = (await _the_endpoint(desk, endpoint)).id if endpoint else None
        flags = f" --endpoint {to}" if to else ""
        flags += f" --state {state.value}" if state else ""
        await show_list(call, listing(desk, to, state, flags))


@verb(app, "resend", "anchorhold webhook resend dlv_…", "anchorhold webhook resend dlv_… --live")
async def resend(
    call: Call, delivery: Annotated[str, typer.Argument(metavar="DELIVERY", help="Its id.")]
) -> None:
    """Send one message once more, under the same id."""
    async with session(call) as desk:
        id_: DeliveryId = DELIVERY.parse(delivery)
        if await messages.resend(desk.db, desk.scope, id_) is None:
            raise Refusal(WebhookCode.DELIVERY_NOT_RESENT, id=delivery)
        say("A worker sends it now.")


@verb(
    app,
    "replay",
    "anchorhold webhook replay whe_… --since 2026-11-30T08:00:00Z",
    "anchorhold webhook replay whe_… --since 2026-11-30T08:00:00Z --until 2026-11-30T09:00:00Z",
)
async def replay(
    call: Call,
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Its id.")],
    *,
    since: Annotated[datetime, typer.Option("--since", formats=TIMES, help="From here on, UTC.")],
    until: Annotated[
        datetime | None, typer.Option("--until", formats=TIMES, help="Up to here, UTC.")
    ] = None,
) -> None:
    """Send every message of a range once more, under its old id."""
    async with session(call) as desk:
        row = await _the_endpoint(desk, endpoint)
        if row.disabled_at is not None:
            raise Refusal(WebhookCode.ENDPOINT_DISABLED, id=row.id, reason=row.disabled_reason)
        count = await messages.replay(
            desk.db,
            desk.scope,
            row.id,
            desk.db.new_ids(DELIVERY, 1)[0],
            since=since.replace(tzinfo=UTC),
            until=until.replace(tzinfo=UTC) if until else desk.when.now,
        )
        what = "1 message is on its way" if count == 1 else f"{count:,} messages are on their way"
        say(f"{what} to {row.url}.")


def _state(row: Endpoint) -> str:
    return f"off: {row.disabled_reason}" if row.disabled_at else "on"


async def _the_endpoint(desk: Session, asked: str) -> Endpoint:
    """The endpoint of this id or URL. Refuses when there is none (ENDPOINT_NOT_FOUND)."""
    for row in await endpoints.all_of(desk.db, desk.scope):
        if asked in (row.id, row.url):
            return row
    raise Refusal(WebhookCode.ENDPOINT_NOT_FOUND, id=asked)


def _show(call: Call, desk: Session, row: Endpoint, secret: str | None) -> None:
    data = objects.endpoint(row)
    if secret is not None:
        data["secret"] = secret

    def screen() -> None:
        line("Endpoint", row.id)
        line("URL", row.url)
        line("Types", ", ".join(row.types) or "all")
        line("State", _state(row))
        if secret is not None:
            line("Secret", secret)
            line("", "It is shown only now. Verify with any library of Standard Webhooks.")
        if row.old_secret_until is not None:
            line("Old secret", f"signs as well until {desk.when.at(row.old_secret_until)}")

    show_one(call, row.id, data, screen)

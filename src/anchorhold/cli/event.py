"""`anchorhold event`: what Stripe told, what it did here, and how it came in."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from anchorhold.cli import objects
from anchorhold.cli.call import TIMES, Call, noun, verb
from anchorhold.cli.event_deliveries import listing
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.cli.trusting import ask_for_secret, trust
from anchorhold.domain import news
from anchorhold.domain.event_delivery import Verdict
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine import news as news_door
from anchorhold.engine import replay as replaying
from anchorhold.engine.intake import UNKNOWN
from anchorhold.store import views_events
from anchorhold.store.views_events import DeliveryFilter, EventRow

app = noun(
    "What Stripe told, each event once, and what it did here.",
    "anchorhold event list",
    "anchorhold event show evt_…",
)


@verb(
    app,
    "list",
    "anchorhold event list",
    "anchorhold event list --invoice R-1001 --output json",
    listed=True,
)
async def list_(
    call: Call,
    *,
    invoice: Annotated[
        str | None, typer.Option("--invoice", help="Only of this invoice: id or reference.")
    ] = None,
) -> None:
    """List Stripe's events, newest first, with the rule by which each had its effect."""
    async with session(call) as desk:
        found = (await the_invoice(desk, invoice)).id if invoice else None
        flags = f" --invoice {invoice}" if invoice else ""
        await show_list(call, _listing(desk, found, flags))


@verb(app, "show", "anchorhold event show evt_…", "anchorhold event show evt_… --output json")
async def show(
    call: Call, event: Annotated[str, typer.Argument(help="The event's id at Stripe.")]
) -> None:
    """Show one event: the safe fields that are kept of it, and what it did."""
    async with session(call) as desk:
        row = await views_events.one(desk.db, desk.scope, event)
        if row is None:
            raise Refusal(Code.EVENT_NOT_FOUND, id=event)
        show_one(call, row.id, objects.event(row), lambda: _screen(desk, row))


@verb(app, "secret", "anchorhold event secret", "anchorhold event secret --hours 1 < secret.txt")
async def secret(
    call: Call,
    *,
    hours: Annotated[
        int,
        typer.Option("--hours", min=0, max=168, help="So long the one before counts as well."),
    ] = 24,
) -> None:
    """Believe what Stripe signs with this secret (whsec_…), from a prompt or standard input.

    Stripe shows it on the endpoint's page; the endpoint's address here is /stripe/ACCOUNT.
    """
    async with session(call) as desk:
        row = await trust(desk, ask_for_secret(), overlap_s=hours * 3600)
        data: objects.Object = {"object": "signing_secret", "id": row, "livemode": call.livemode}
        show_one(call, row, data, lambda: line("Believed", f"{row}, {desk.scope.mode} mode"))


@verb(
    app,
    "replay",
    "anchorhold event replay evt_…",
    "anchorhold event replay --from 2026-11-30T08:00:00Z --to 2026-11-30T09:00:00Z",
)
async def replay(
    call: Call,
    event: Annotated[str | None, typer.Argument(help="The event's id at Stripe.")] = None,
    *,
    since: Annotated[
        datetime | None, typer.Option("--from", formats=TIMES, help="Made from here on, UTC.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option("--to", formats=TIMES, help="Made before this, UTC.")
    ] = None,
) -> None:
    """Work what Stripe told once more: one event, or all that Stripe made in a time.

    What had its effect has none again. What Stripe does not answer to now waits for the next tick.
    """
    if (event is None) == (since is None) or (since is None and until is not None):
        raise typer.BadParameter("Name one event, or a time with --from.")
    async with session(call) as desk:
        deps, connected = desk.app.deps, await desk.connected()
        if event is not None:
            rule = await replaying.replay(deps, connected, desk.scope, event)
            found, rows = 1, {rule: 1}
        else:
            begin = (since or desk.when.now).replace(tzinfo=UTC)
            end = until.replace(tzinfo=UTC) if until else desk.when.now
            found, rows = await replaying.replay_between(deps, connected, desk.scope, begin, end)
        data: objects.Object = {"object": "event_replay", "id": event, "events": found}
        show_one(call, event or str(found), {**data, "by_rule": rows}, lambda: _said(found, rows))


def _said(found: int, rows: dict[str, int]) -> None:
    line("Events", "1 was worked again" if found == 1 else f"{found:,} were worked again")
    for rule, count in sorted(rows.items()):
        why = "it waits for the next tick" if rule == news_door.NOT_YET else _because(rule)
        line(rule, f"{count:,}  {why}")


def _because(rule: str) -> str:
    return next((row.because for row in news.NEWS if row.id == rule), "")


@verb(
    app,
    "deliveries",
    "anchorhold event deliveries",
    "anchorhold event deliveries --verdict forged --output json",
    listed=True,
)
async def deliveries(
    call: Call,
    *,
    verdict: Annotated[Verdict | None, typer.Option("--verdict", help="Only these.")] = None,
    event: Annotated[
        str | None, typer.Option("--event", help="Only of this event: its id at Stripe.")
    ] = None,
    nobody: Annotated[
        bool, typer.Option("--unknown-account", help="Those to accounts that do not exist.")
    ] = False,
) -> None:
    """List what came in at /stripe/ACCOUNT, newest first: each delivery with its verdict."""
    async with session(call) as desk:
        flags = f" --verdict {verdict.value}" if verdict else ""
        flags += f" --event {event}" if event else ""
        flags += " --unknown-account" if nobody else ""
        scope = UNKNOWN if nobody else desk.scope
        await show_list(call, listing(desk, scope, DeliveryFilter(verdict, event), flags))


def _listing(desk: Session, invoice: InvoiceId | None, flags: str) -> Listing[EventRow]:
    return Listing(
        again=f"anchorhold event list{flags}",
        columns=(
            Column("id", lambda row: row.id),
            Column("type", lambda row: row.type),
            Column("object", lambda row: row.object_id, from_width=130),
            Column("invoice", lambda row: row.invoice_id or "-", from_width=150),
            Column("state", _state),
            Column("rule", lambda row: row.rule or "-", from_width=100),
            Column("by", lambda row: row.source.value.replace("_", "-"), from_width=140),
            Column("made", lambda row: desk.when.at(row.created)),
        ),
        id_of=lambda row: row.id,
        to_object=objects.event,
        fetch=lambda after, limit: views_events.page(
            desk.db, desk.scope, invoice_id=invoice, after=after, limit=limit
        ),
        total=lambda: views_events.count(desk.db, desk.scope, invoice_id=invoice),
        empty="No events fit." if flags else "No events yet: a tick reads them.",
    )


def _state(row: EventRow) -> str:
    return row.state.value.replace("_", " ")


def _screen(desk: Session, row: EventRow) -> None:
    rule = news.read(row.type)
    print(f"{row.id}  {row.type}  {_state(row)}")
    line("Object", row.object_id)
    line("Invoice", row.invoice_id or "of nothing that is known here")
    if rule is not None:
        line("Rule", f"{rule.id}  {rule.act.value}  ({rule.because})")
    for name, value in row.summary.items():
        line(name.replace("_", " ").capitalize()[:11], str(value))
    line("Made", desk.when.at(row.created))
    line("Taken in", f"{desk.when.at(row.taken_at)}, {row.source.value.replace('_', '-')}")
    if row.done_at is not None:
        line("Ended", desk.when.at(row.done_at))

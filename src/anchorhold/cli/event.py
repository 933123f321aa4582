"""`anchorhold event`: list, show, secret: what Stripe told, and what it did here."""

from typing import Annotated

import typer

from anchorhold.cli import objects
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.cli.trusting import ask_for_secret, trust
from anchorhold.domain import news
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store import views_events
from anchorhold.store.views_events import EventRow

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

"""`anchorhold hold`: list, explain, check."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from anchorhold.cli import objects, words
from anchorhold.cli.call import Call, Format, noun, verb
from anchorhold.cli.invoice_screen import head
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.objects import Object
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.hold import HoldState
from anchorhold.engine.explain import Explained, Step, check_now, explain
from anchorhold.store import views_invoices
from anchorhold.store.views_invoices import InvoiceView

app = noun(
    "What is being charged or confirmed with Stripe, and why.",
    "anchorhold hold list",
    "anchorhold hold explain inv_…",
)

Name = Annotated[str, typer.Argument(metavar="INVOICE", help="Its id, or your own reference.")]


class Lane(StrEnum):
    """Where something is under way."""

    LIVE = "live"
    CONFIRMING = "confirming"
    FOLLOWING = "following"


_LANE = {
    HoldState.LIVE: Lane.LIVE,
    HoldState.STALE: Lane.CONFIRMING,
    HoldState.PARKED: Lane.CONFIRMING,
    HoldState.FOLLOWING: Lane.FOLLOWING,
}


@verb(
    app,
    "list",
    "anchorhold hold list",
    "anchorhold hold list --output json",
    listed=True,
)
async def list_(call: Call) -> None:
    """List the invoices with something under way, in three lanes, newest first.

    live: a worker is charging it. confirming: an answer is missing, and Stripe is asked what
    happened. following: Stripe has it in processing, and it is looked at by its id. overdue: it
    ended over ANCHORHOLD_HOLD_ALARM_SECONDS ago (a park: ANCHORHOLD_PARKED_ALARM_SECONDS).
    """
    async with session(call) as desk:
        await show_list(call, _listing(desk))
        if call.format is Format.TABLE:
            lanes = await views_invoices.lanes(desk.db, desk.scope)
            counts = f"{lanes.live:,} live, {lanes.confirming:,} being confirmed with Stripe"
            print(f"{counts}, {lanes.following:,} followed")


def _listing(desk: Session) -> Listing[InvoiceView]:
    async def total() -> int:
        lanes = await views_invoices.lanes(desk.db, desk.scope)
        return lanes.live + lanes.confirming + lanes.following

    return Listing(
        again="anchorhold hold list",
        columns=_columns(desk),
        id_of=lambda row: row.id,
        to_object=lambda row: objects.hold(row, desk.timing),
        fetch=lambda after, limit: views_invoices.under_way(
            desk.db, desk.scope, after=after, limit=limit
        ),
        total=total,
        empty="Nothing is under way.",
    )


def _columns(desk: Session) -> Sequence[Column[InvoiceView]]:
    return (
        Column("invoice", lambda row: row.id),
        Column("lane", lambda row: _lane(row, desk)),
        Column("amount", lambda row: words.money(row.amount_due, row.currency), right=True),
        Column(
            "since", lambda row: desk.when.at(row.held_since or row.followed_at), from_width=100
        ),
        Column("next check", lambda row: words.check(row, desk.timing, desk.when)),
        Column("Stripe asked", lambda row: desk.when.at(row.provider_synced_at), from_width=120),
        Column("claimed by", lambda row: row.hold_actor or "-", from_width=140),
    )


def _lane(row: InvoiceView, desk: Session) -> str:
    """The lane; what should have ended long ago is told apart, and needs a person."""
    late = objects.alarm(row, desk.timing)
    return f"{_LANE[row.hold].value}, overdue" if late else _LANE[row.hold].value


@verb(app, "explain", "anchorhold hold explain inv_…", "anchorhold hold explain R-1001 -o json")
async def explain_(call: Call, name: Name) -> None:
    """Ask Stripe about one invoice and say which rule fits and why; nothing is changed."""
    async with session(call) as desk:
        invoice = await the_invoice(desk, name)
        seen = await explain(desk.app.deps, desk.scope, invoice.id)
    data: Object = {
        **objects.hold(invoice, desk.timing),
        "object": "explanation",
        "found": list(seen.found),
        "unread": seen.unread or None,
        "intents": [
            {"id": row.id, "status": row.status.value, "amount": row.amount} for row in seen.intents
        ],
        "rules": [_step(step) for step in seen.steps],
    }
    show_one(call, invoice.id, data, lambda: _screen(desk, invoice, seen))


def _step(step: Step) -> Object:
    return {"rule": step.rule, "act": step.act, "because": step.because}


def _screen(desk: Session, invoice: InvoiceView, seen: Explained) -> None:
    print(head(invoice))
    line("Hold", _hold(desk, invoice))
    for intent in seen.intents:
        amount = words.money(intent.amount, intent.currency)
        line("Stripe", f"{intent.id}  {intent.status.value}  {amount}")
    if not seen.intents:
        line("Stripe", seen.unread or "shows no PaymentIntent of this invoice")
    for step in seen.steps:
        line(f"Rule {step.rule}", f"{', '.join(seen.found)}  →  {step.act}")
        line("Because", step.because)
    if not seen.steps and not seen.unread:
        line("Rule", "none yet: its owner is at work and saves the answer")
    line("Next check", words.check(invoice, desk.timing, desk.when))
    if seen.steps:
        line("Do it now", f"anchorhold hold check {invoice.id}")


def _hold(desk: Session, invoice: InvoiceView) -> str:
    """Whose hold it is, and since when; or since when the intent is followed."""
    if invoice.hold_until is None:
        return f"none; followed since {desk.when.at(invoice.followed_at)}"
    kind = invoice.hold_attempt_kind.value if invoice.hold_attempt_kind else "charge"
    ends = "ends" if invoice.hold is HoldState.LIVE else "ended"
    claimed = f"claimed by {invoice.hold_actor} ({kind}) {desk.when.at(invoice.held_since)}"
    return f"{ends} {desk.when.at(invoice.hold_until)}, {claimed}"


@verb(app, "check", "anchorhold hold check inv_…", "anchorhold hold check R-1001 --output json")
async def check(call: Call, name: Name) -> None:
    """Ask Stripe about one invoice now, and act on what it says; safe at any time.

    What would happen at the next tick happens now. It never sends a charge: it reads at Stripe,
    then settles, releases, follows or keeps the hold. Exit code 3 while a worker is charging it.
    """
    async with session(call) as desk:
        before = await the_invoice(desk, name)
        step = await check_now(desk.app.deps, desk.scope, before.id)
        invoice = await the_invoice(desk, before.id)
    data: Object = {
        "object": "check",
        "id": invoice.id,
        **(_step(step) if step else {"rule": None, "act": None, "because": None}),
        "invoice": objects.invoice(invoice, desk.timing),
    }

    def screen() -> None:
        if step is None:
            line("Check", "somebody else ended the hold first")
        else:
            line(f"Rule {step.rule}", step.act)
            line("Because", step.because)
        print(head(invoice))
        line("Next", words.next_step(invoice, desk.timing, desk.when))

    show_one(call, invoice.id, data, screen)

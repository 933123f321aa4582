"""`anchorhold invoice collect`: says what will happen, asks, looks again, charges once."""

import typer

from anchorhold.cli import objects, words
from anchorhold.cli.asking import ask
from anchorhold.cli.call import Call
from anchorhold.cli.finishing import to_its_end
from anchorhold.cli.invoice_screen import head
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.objects import Object
from anchorhold.cli.output import hint, line, show_one
from anchorhold.cli.session import Session
from anchorhold.domain.refusals import Code, Exit, Refusal
from anchorhold.engine.charge import Charged
from anchorhold.engine.collect import collect, require
from anchorhold.store import invoices
from anchorhold.store.views_invoices import InvoiceView


async def run(call: Call, desk: Session, name: str, *, yes: bool, dry_run: bool) -> None:
    """The invoice was charged once, and what came of it is printed."""
    before = await the_invoice(desk, name)
    await _require(desk, before)
    amount = words.money(before.amount_due - before.amount_paid, before.currency)
    mode = "LIVE" if before.livemode else "test"
    act = f"charge {amount} to customer {before.customer_reference} for {before.reference}"
    if dry_run:
        _show(call, desk, before, None, f"would {act} ({mode} mode)")
        return
    ask(f"{act} ({mode} mode)", yes=yes)
    await _require_unchanged(desk, before)
    hint("waiting for Stripe's answer …")
    charged = await to_its_end(collect(desk.app.deps, desk.scope, before.id), before.id)
    after = await the_invoice(desk, before.id)
    said, code = _OUTCOMES.get(charged.saved or "", (words.CONFIRMING, Exit.UNAVAILABLE))
    _show(call, desk, after, charged, said)
    if code is not Exit.DONE:
        raise typer.Exit(code)


_OUTCOMES = {
    "paid": ("paid", Exit.DONE),
    "overpaid": ("paid, and more than was due", Exit.DONE),
    "known": ("paid; it was recorded before", Exit.DONE),
    "processing": ("the bank decides later; it is followed", Exit.DONE),
    "short": ("less than was due arrived", Exit.REFUSED),
    "duplicate": ("a second payment arrived; a person refunds one", Exit.REFUSED),
    "failed": ("declined", Exit.REFUSED),
    "not_sent": ("nothing was sent; it can be collected again", Exit.UNAVAILABLE),
    "superseded": ("Stripe shows no charge; it can be collected again", Exit.UNAVAILABLE),
}
"""What came of a charge, and the exit code; everything else is being confirmed."""


async def _require(desk: Session, invoice: InvoiceView) -> None:
    standing = await invoices.standing(desk.db, desk.scope, invoice.id)
    if standing is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=invoice.id)
    require(desk.app.deps, desk.scope, invoice.id, standing)


async def _require_unchanged(desk: Session, before: InvoiceView) -> None:
    """What was asked about is still so. Refuses otherwise (CHANGED_MEANWHILE, or why not)."""
    await _require(desk, before)
    now = await the_invoice(desk, before.id)
    if (now.amount_due, now.amount_paid, now.customer_id) != (
        before.amount_due,
        before.amount_paid,
        before.customer_id,
    ):
        raise Refusal(Code.CHANGED_MEANWHILE, invoice=before.id)


def _show(
    call: Call, desk: Session, invoice: InvoiceView, charged: Charged | None, words_: str
) -> None:
    data: Object = {
        "object": "collection",
        "id": invoice.id,
        "dry_run": charged is None,
        "rule": charged.rule if charged else None,
        "outcome": charged.saved if charged else None,
        "sentence": words_,
        "invoice": objects.invoice(invoice, desk.timing),
    }

    def screen() -> None:
        print(head(invoice))
        line("Collect", words_)
        if charged:
            line("Rule", charged.rule)
        line("Next", words.next_step(invoice, desk.timing, desk.when))

    show_one(call, invoice.id, data, screen)

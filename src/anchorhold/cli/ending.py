"""Acts that end an invoice or change what is due: say what will happen, ask, look again, act."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from anchorhold.cli import objects, words
from anchorhold.cli.asking import ask
from anchorhold.cli.call import Call, Format
from anchorhold.cli.finishing import to_its_end
from anchorhold.cli.invoice_screen import head
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.objects import Object
from anchorhold.cli.output import hint, line, print_json, show_one
from anchorhold.cli.session import Session
from anchorhold.domain.access import Action
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine import ending as endings
from anchorhold.engine.close import Closed
from anchorhold.store.invoices import Standing
from anchorhold.store.views_invoices import InvoiceView


@dataclass(frozen=True, slots=True)
class Plan:
    """One act on one invoice. `require` refuses; `done` says what has happened."""

    name: str
    act: str
    done: str
    require: Callable[[Standing], object]
    run: Callable[[], Coroutine[Any, Any, Closed | str]]


Planned = Callable[[Session, InvoiceView], Plan]


async def run(
    call: Call, desk: Session, name: str, planned: Planned, *, yes: bool, dry_run: bool
) -> None:
    """The act was done and what came of it is printed; a refusal is printed with the hold."""
    before = await the_invoice(desk, name)
    plan = planned(desk, before)
    try:
        await _run(call, desk, before, plan, yes=yes, dry_run=dry_run)
    except Refusal as refusal:
        await _tell(call, desk, before, refusal)
        raise


async def _run(
    call: Call, desk: Session, before: InvoiceView, plan: Plan, *, yes: bool, dry_run: bool
) -> None:
    await _require(desk, before, plan)
    mode = "LIVE" if before.livemode else "test"
    if dry_run:
        _show(call, desk, before, plan, None, f"would {plan.act} ({mode} mode)")
        return
    ask(f"{plan.act} ({mode} mode)", yes=yes)
    await _require_unchanged(desk, before, plan)
    hint("asking Stripe …")
    closed = await to_its_end(plan.run(), before.id)
    after = await the_invoice(desk, before.id)
    _show(call, desk, after, plan, closed, plan.done)


async def _require(desk: Session, invoice: InvoiceView, plan: Plan) -> None:
    plan.require(await endings.standing(desk.app.deps, desk.scope, invoice.id))


async def _require_unchanged(desk: Session, before: InvoiceView, plan: Plan) -> None:
    """What was asked about is still so: the row may have moved while the question was open."""
    await _require(desk, before, plan)
    now = await the_invoice(desk, before.id)
    if (now.amount_due, now.amount_paid) != (before.amount_due, before.amount_paid):
        raise Refusal(Code.CHANGED_MEANWHILE, invoice=before.id)


def _show(
    call: Call,
    desk: Session,
    invoice: InvoiceView,
    plan: Plan,
    closed: Closed | str | None,
    said: str,
) -> None:
    keeps = isinstance(closed, Closed) and closed.keeps_hold
    if keeps:
        said = f"{said}; a charge of it may be under way and is still looked for"
    data: Object = {
        "object": plan.name,
        "id": invoice.id,
        "dry_run": closed is None,
        "rule": closed.rule if isinstance(closed, Closed) else None,
        "keeps_hold": keeps,
        "sentence": said,
        "invoice": objects.invoice(invoice, desk.timing),
    }

    def screen() -> None:
        print(head(invoice))
        line("Done" if closed else "Plan", said)
        line("Next", words.next_step(invoice, desk.timing, desk.when))

    show_one(call, invoice.id, data, screen)


async def _tell(call: Call, desk: Session, before: InvoiceView, refusal: Refusal) -> None:
    """The refusal as an object, with the hold as it is now, for programs."""
    if call.format not in {Format.JSON, Format.NDJSON}:
        return
    now = await the_invoice(desk, before.id)
    data: Object = {
        "object": "refusal",
        "id": before.id,
        "code": refusal.code.code,
        "sentence": refusal.sentence,
        "next_step": refusal.next_step,
        "hold": objects.invoice(now, desk.timing)["hold"],
    }
    if call.format is Format.JSON:
        print_json(data)
    else:
        show_one(call, before.id, data, lambda: None)


def requires(desk: Session, invoice: InvoiceView, action: Action) -> Callable[[Standing], object]:
    """What an act on this invoice asks of the hold."""
    return lambda now: endings.require(desk.app.deps, invoice.id, action, now)


def remaining(invoice: InvoiceView) -> str:
    """What is due on it, for people."""
    return words.money(invoice.amount_due - invoice.amount_paid, invoice.currency)

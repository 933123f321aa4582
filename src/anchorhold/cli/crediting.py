"""`anchorhold customer credit`: shows a balance, and gives after a question."""

from dataclasses import dataclass

from anchorhold.cli import objects, words
from anchorhold.cli.asking import ask
from anchorhold.cli.call import Call
from anchorhold.cli.invoice_acts import require_words
from anchorhold.cli.objects import Object
from anchorhold.cli.output import line, say, show_one
from anchorhold.cli.session import Session
from anchorhold.cli.waking import wake
from anchorhold.domain.money import Money
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store import credits as balances
from anchorhold.store.credits import Entry
from anchorhold.store.views_customers import CustomerView

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Gift:
    """How much credit is given, and why."""

    amount: Money
    reason: str


def gift_of(text: str, currency: str, reason: str) -> Gift:
    """What was asked for. Refuses: reason_missing, and what `Money.parse` refuses."""
    require_words(reason, "give credit")
    amount = Money.parse(text, currency)
    if amount.minor == 0:
        raise Refusal(
            Code.AMOUNT_MALFORMED,
            text=text,
            currency=currency.upper(),
            reason="it is nothing",
            example="10.00",
        )
    return Gift(amount, reason)


async def give(
    call: Call, desk: Session, customer: CustomerView, gift: Gift, *, yes: bool, dry_run: bool
) -> None:
    """The customer has so much more credit, and workers look whether it covers an invoice."""
    act = f"give {gift.amount.display} of credit to {customer.reference}"
    if dry_run:
        say(f"would {act}")
        return
    ask(act, yes=yes)
    given = await balances.give(
        desk.db,
        desk.scope,
        customer.id,
        amount=gift.amount.minor,
        currency=gift.amount.currency,
        reason=gift.reason,
        actor=desk.app.deps.actor,
    )
    if given is None:
        raise Refusal(Code.CUSTOMER_NOT_FOUND, id=customer.id)
    await wake(desk.app, desk.scope)


async def show(call: Call, desk: Session, customer: CustomerView) -> None:
    """The balances, and the newest entries."""
    rows = await balances.balances(desk.db, desk.scope, customer.id)
    entries = await balances.entries(desk.db, desk.scope, customer.id, limit=SHOWN)
    data: Object = {
        "object": "credit",
        "id": customer.id,
        "customer": customer.reference,
        "balances": [
            {
                "currency": row.currency,
                "balance": row.balance,
                "display": words.money(row.balance, row.currency),
            }
            for row in rows
        ],
        "entries": [_entry(entry) for entry in entries],
    }

    def screen() -> None:
        shown = ", ".join(words.money(row.balance, row.currency) for row in rows)
        print(f"{customer.id}  {customer.reference}")
        line("Credit", shown or "none")
        for entry in entries:
            line(desk.when.at(entry.created_at), _said(entry))

    show_one(call, customer.id, data, screen)


def _entry(entry: Entry) -> Object:
    return {
        "object": "credit_entry",
        "id": entry.id,
        "amount": entry.amount,
        "balance": entry.balance,
        "currency": entry.currency,
        "invoice_id": entry.invoice_id,
        "reason": entry.reason,
        "actor": entry.actor,
        "created_at": objects.plain(entry.created_at),
    }


def _said(entry: Entry) -> str:
    amount = words.money(abs(entry.amount), entry.currency)
    what = f"{amount} given" if entry.amount > 0 else f"{amount} spent on {entry.invoice_id}"
    return f"{what}: {entry.reason}"

"""`anchorhold payment`: list, show, refund."""

from typing import Annotated

import typer

from anchorhold.cli import objects, words
from anchorhold.cli.asking import ask
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.finishing import to_its_end
from anchorhold.cli.lookup import the_invoice, the_payment
from anchorhold.cli.objects import Object
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.money import Money
from anchorhold.domain.refund import RefundState, standing
from anchorhold.domain.refusals import Code, Exit, Refusal
from anchorhold.engine import refunds
from anchorhold.store import views_payments, views_refunds
from anchorhold.store.views_payments import PaymentView
from anchorhold.store.views_refunds import RefundRowView

app = noun(
    "Every payment, each recorded once.",
    "anchorhold payment list --invoice inv_…",
    "anchorhold payment show pay_…",
    "anchorhold payment refund pay_… --amount 49.00 --reason 'late delivery'",
)


@verb(
    app,
    "list",
    "anchorhold payment list",
    "anchorhold payment list --invoice R-1001 --output json",
    listed=True,
)
async def list_(
    call: Call,
    *,
    invoice: Annotated[
        str | None, typer.Option("--invoice", help="Only of this invoice: id or reference.")
    ] = None,
) -> None:
    """List payments, newest first, with who brought the news of each."""
    async with session(call) as desk:
        found = (await the_invoice(desk, invoice)).id if invoice else None
        flags = f" --invoice {invoice}" if invoice else ""
        await show_list(call, _listing(desk, found, flags))


@verb(app, "show", "anchorhold payment show pay_…", "anchorhold payment show pi_… --output json")
async def show(
    call: Call, payment: Annotated[str, typer.Argument(help="Its id, or its PaymentIntent's.")]
) -> None:
    """Show one payment: its refunds, and how its dispute stands."""
    async with session(call) as desk:
        row = await the_payment(desk, payment)
        given = await views_refunds.of_payment(desk.db, desk.scope, row.id)
        data = {**objects.payment(row), "refunds": [objects.refund(one) for one in given]}
        show_one(call, row.id, data, lambda: _screen(desk, row, given))


@verb(
    app,
    "refund",
    "anchorhold payment refund pay_… --reason 'late delivery' --dry-run",
    "anchorhold payment refund pay_… --amount 49.00 --reason 'late delivery' --yes",
)
async def refund(
    call: Call,
    payment: Annotated[str, typer.Argument(help="Its id, or its PaymentIntent's.")],
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept with the refund.")],
    amount: Annotated[
        str | None, typer.Option("--amount", help="As in 49.00; all that is left without it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before money moves.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and do nothing.")
    ] = False,
) -> None:
    """Give money back to the customer, once, however often the answer is lost.

    The invoice stays as it is: a refund never opens it again. Exit code 3 when there is less left,
    when the payment is disputed or being refunded; 5 when Stripe's answer is not known yet: the
    next tick asks, and nothing is given back twice.
    """
    async with session(call) as desk:
        row = await the_payment(desk, payment)
        asked = _asked(row, amount)
        act = f"refund {words.money(asked, row.currency)} of payment {row.id}"
        if dry_run:
            _done(call, row, f"would {act} ({desk.scope.mode} mode)", None)
            return
        ask(f"{act} ({desk.scope.mode} mode)", yes=yes)
        acting = refunds.refund(desk.app.deps, desk.scope, row.id, asked or None, reason)
        done = await to_its_end(acting, row.invoice_id)
        _done(call, await the_payment(desk, row.id), words.refund_state(done.state), done)
        if done.state is RefundState.REQUESTED:
            raise typer.Exit(Exit.UNAVAILABLE)


def _asked(row: PaymentView, amount: str | None) -> int:
    """Minor units. Refuses what is no amount of the payment's currency, or more than is left."""
    left = row.amount - row.amount_refunded
    asked = left if amount is None else Money.parse(amount, row.currency).minor
    if asked > left:
        raise Refusal(
            Code.REFUND_TOO_LARGE,
            payment=row.id,
            left=words.money(left, row.currency),
            amount=words.money(asked, row.currency),
        )
    return asked


def _done(call: Call, row: PaymentView, outcome: str, done: refunds.Refunded | None) -> None:
    data: Object = {
        "object": "refund_act",
        "id": done.id if done else None,
        "dry_run": done is None,
        "rule": done.rule if done else None,
        "state": done.state.value if done else None,
        "sentence": outcome,
        "payment": objects.payment(row),
    }

    def screen() -> None:
        print(f"{row.id}  {_money(row)}  {_standing(row)}")
        line("Refund", outcome)

    show_one(call, row.id, data, screen)


def _screen(desk: Session, row: PaymentView, given: list[RefundRowView]) -> None:
    print(f"{row.id}  {_money(row)}  {_standing(row)}")
    line("Invoice", row.invoice_id)
    line("At Stripe", row.intent_id or row.elsewhere or "nothing")
    line("News from", f"the {row.source.value}, {desk.when.at(row.created_at)}")
    if row.dispute is not None:
        line("Dispute", f"{row.dispute_id}  {row.dispute.value}")
    for one in given:
        amount = words.money(one.amount, one.currency)
        why = f"  {one.reason or one.error or ''}".rstrip()
        line("Refund", f"{one.id}  {amount}  {words.refund_state(one.state)}{why}")


def _money(row: PaymentView) -> str:
    return words.money(row.amount, row.currency)


def _standing(row: PaymentView) -> str:
    return standing(row.amount, row.amount_refunded, row.dispute).value.replace("_", " ")


def _listing(desk: Session, invoice: InvoiceId | None, flags: str) -> Listing[PaymentView]:
    return Listing(
        again=f"anchorhold payment list{flags}",
        columns=(
            Column("id", lambda row: row.id),
            Column("invoice", lambda row: row.invoice_id, from_width=110),
            Column("amount", lambda row: words.money(row.amount, row.currency), right=True),
            Column(
                "refunded",
                lambda row: words.money(row.amount_refunded, row.currency),
                right=True,
                from_width=150,
            ),
            Column("news from", lambda row: row.source.value),
            Column("at Stripe", lambda row: row.intent_id or "-", from_width=140),
            Column("recorded", lambda row: desk.when.at(row.created_at)),
        ),
        id_of=lambda row: row.id,
        to_object=objects.payment,
        fetch=lambda after, limit: views_payments.page(
            desk.db, desk.scope, invoice_id=invoice, after=after, limit=limit
        ),
        total=lambda: views_payments.count(desk.db, desk.scope, invoice_id=invoice),
        empty="No payments fit." if flags else "No payments yet.",
    )

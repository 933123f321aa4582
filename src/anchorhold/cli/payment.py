"""`anchorhold payment`: list."""

from typing import Annotated

import typer

from anchorhold.cli import objects, words
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.output import Column, Listing, show_list
from anchorhold.cli.session import Session, session
from anchorhold.domain.ids import InvoiceId
from anchorhold.store import views_payments
from anchorhold.store.views_payments import PaymentView

app = noun(
    "Every payment, each recorded once.",
    "anchorhold payment list",
    "anchorhold payment list --invoice inv_…",
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
            Column("at Stripe", lambda row: row.intent_id, from_width=140),
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

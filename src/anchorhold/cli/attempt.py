"""`anchorhold attempt`: list."""

from typing import Annotated

import typer

from anchorhold.cli import objects, words
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.output import Column, Listing, show_list
from anchorhold.cli.session import Session, session
from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.ids import InvoiceId
from anchorhold.store import views_attempts
from anchorhold.store.views_attempts import AttemptView

app = noun(
    "Every try to charge, and what became of it.",
    "anchorhold attempt list",
    "anchorhold attempt list --invoice inv_…",
)


@verb(
    app,
    "list",
    "anchorhold attempt list --invoice inv_…",
    "anchorhold attempt list --status failed --output json",
    listed=True,
)
async def list_(
    call: Call,
    *,
    status: Annotated[AttemptState | None, typer.Option("--status", help="Only these.")] = None,
    invoice: Annotated[
        str | None, typer.Option("--invoice", help="Only of this invoice: id or reference.")
    ] = None,
) -> None:
    """List attempts, newest first.

    An attempt is one taking of an invoice's hold, written before anything was sent.
    """
    async with session(call) as desk:
        found = (await the_invoice(desk, invoice)).id if invoice else None
        flags = f" --status {status.value}" if status else ""
        flags += f" --invoice {invoice}" if invoice else ""
        await show_list(call, _listing(desk, status, found, flags))


def _listing(
    desk: Session, state: AttemptState | None, invoice: InvoiceId | None, flags: str
) -> Listing[AttemptView]:
    return Listing(
        again=f"anchorhold attempt list{flags}",
        columns=(
            Column("id", lambda row: row.id),
            Column("invoice", lambda row: row.invoice_id, from_width=120),
            Column("amount", lambda row: words.money(row.amount, row.currency), right=True),
            Column("kind", lambda row: row.kind.value, from_width=130),
            Column("state", lambda row: words.attempt_state(row.state)),
            Column("why", _why, from_width=100),
            Column("rule", lambda row: row.rule or "-", from_width=140),
            Column("claimed", lambda row: desk.when.at(row.claimed_at)),
        ),
        id_of=lambda row: row.id,
        to_object=objects.attempt,
        fetch=lambda after, limit: views_attempts.page(
            desk.db, desk.scope, state=state, invoice_id=invoice, after=after, limit=limit
        ),
        total=lambda: views_attempts.count(desk.db, desk.scope, state=state, invoice_id=invoice),
        empty="No attempts fit." if flags else "No attempts yet: a worker makes them.",
    )


def _why(row: AttemptView) -> str:
    if row.decline:
        return words.code_of(row.decline)
    return row.cause.value.replace("_", " ") if row.cause else "-"

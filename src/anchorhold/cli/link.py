"""`anchorhold link`: links to the page where a customer pays."""

from typing import Annotated

import typer

from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.linking import to_object
from anchorhold.cli.lookup import the_invoice
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.ids import PAGE_LINK, InvoiceId
from anchorhold.engine.page_links import revoke_link
from anchorhold.store import page_links
from anchorhold.store.page_links import PageLink

app = noun(
    "Links to the page where a customer pays.",
    "anchorhold link list R-1001",
    "anchorhold link revoke lnk_…",
)


@verb(
    app,
    "list",
    "anchorhold link list R-1001",
    "anchorhold link list inv_… --output json",
    listed=True,
)
async def list_(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="INVOICE", help="Its id, or your own reference.")],
) -> None:
    """List an invoice's links, newest first. `anchorhold invoice link INVOICE` makes one."""
    async with session(call) as desk:
        invoice = await the_invoice(desk, name)
        rows = await page_links.of_invoice(desk.db, desk.scope, invoice.id)
        await show_list(call, _listing(desk, invoice.id, rows))


def _listing(desk: Session, invoice: InvoiceId, rows: list[PageLink]) -> Listing[PageLink]:
    """An invoice has a handful of them."""

    async def fetch(after: str | None, limit: int) -> list[PageLink]:
        return [row for row in rows if after is None or row.id < after][:limit]

    async def total() -> int:
        return len(rows)

    return Listing(
        again=f"anchorhold link list {invoice}",
        columns=(
            Column("id", lambda row: row.id),
            Column("state", lambda row: row.state.value),
            Column("expires", lambda row: desk.when.at(row.expires_at)),
            Column("made", lambda row: desk.when.at(row.created_at), from_width=100),
        ),
        id_of=lambda row: row.id,
        to_object=lambda row: to_object(desk, row),
        fetch=fetch,
        total=total,
        empty=f"No links yet: `anchorhold invoice link {invoice}`.",
    )


@verb(app, "revoke", "anchorhold link revoke lnk_…", "anchorhold link revoke lnk_… --output json")
async def revoke(
    call: Call, link: Annotated[str, typer.Argument(metavar="LINK", help="Its id.")]
) -> None:
    """End a link: from now on it opens nothing. What was paid with it stays paid."""
    async with session(call) as desk:
        row = await revoke_link(desk.app.deps, desk.scope, PAGE_LINK.parse(link))

        def screen() -> None:
            print(f"{row.id} is revoked")
            line("Invoice", row.invoice_id)

        show_one(call, row.id, to_object(desk, row), screen)

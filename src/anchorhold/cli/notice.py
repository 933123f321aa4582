"""`anchorhold notice`: list."""

from typing import Annotated

import typer

from anchorhold.cli import objects, words
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.output import Column, Listing, show_list
from anchorhold.cli.session import Session, session
from anchorhold.store import views_notices
from anchorhold.store.views_notices import NoticeView

app = noun(
    "What needs a person.",
    "anchorhold notice list",
    "anchorhold notice list --resolved",
)


@verb(
    app,
    "list",
    "anchorhold notice list",
    "anchorhold notice list --output json",
    listed=True,
)
async def list_(
    call: Call,
    *,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Those that somebody has dealt with.")
    ] = False,
) -> None:
    """List what needs a person, newest first: one line a fact, with its evidence."""
    async with session(call) as desk:
        await show_list(call, _listing(desk, resolved=resolved))


def _listing(desk: Session, *, resolved: bool) -> Listing[NoticeView]:
    return Listing(
        again="anchorhold notice list" + (" --resolved" if resolved else ""),
        columns=(
            Column("id", lambda row: row.id, from_width=140),
            Column("invoice", lambda row: row.invoice_id),
            Column("what", lambda row: row.code),
            Column("evidence", _evidence, from_width=100),
            Column("opened", lambda row: desk.when.at(row.opened_at)),
        ),
        id_of=lambda row: row.id,
        to_object=objects.notice,
        fetch=lambda after, limit: views_notices.page(
            desk.db, desk.scope, resolved=resolved, after=after, limit=limit
        ),
        total=lambda: views_notices.count(desk.db, desk.scope, resolved=resolved),
        empty="Nothing was dealt with yet." if resolved else "Nothing needs a person.",
    )


def _evidence(row: NoticeView) -> str:
    amount, currency = row.evidence.get("amount"), row.evidence.get("currency")
    if isinstance(amount, int) and isinstance(currency, str):
        return f"{words.money(amount, currency)}  {row.evidence.get('stripe_intent_id') or ''}"
    return words.said(row.evidence)

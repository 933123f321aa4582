"""What happened to one invoice, in order: the rows that its story is told from."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import AttemptId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One thing that happened, written by the transaction that did it."""

    entry: int
    at: datetime
    actor: str
    what: str
    rule: str | None
    attempt_id: AttemptId | None
    detail: dict[str, object]


async def of_invoice(db: Db, scope: Scope, invoice_id: InvoiceId) -> list[JournalEntry]:
    """All that happened to the invoice, oldest first."""
    return await db.all(
        """
        SELECT entry, at, actor, what, rule, attempt_id, detail
          FROM anchorhold.journal
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND invoice_id = %(invoice_id)s
         ORDER BY entry
        """,
        JournalEntry,
        **scope.params,
        invoice_id=invoice_id,
    )

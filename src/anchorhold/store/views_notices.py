"""What needs a person, as people and programs read it; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import AccountId, InvoiceId, NoticeId
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class NoticeView:
    """One fact that a person has to decide about, with its evidence."""

    id: NoticeId
    account_id: AccountId
    livemode: bool
    code: str
    invoice_id: InvoiceId | None
    invoice_reference: str | None
    subject: str
    evidence: dict[str, object]
    opened_at: datetime
    resolved_at: datetime | None
    resolved_by: str | None
    resolution: str | None


_PAGE = """
SELECT n.id, n.account_id, n.livemode, n.code, n.invoice_id,
       i.reference AS invoice_reference, n.subject, n.evidence, n.opened_at, n.resolved_at,
       n.resolved_by, n.resolution
  FROM anchorhold.notice n
  LEFT JOIN anchorhold.invoice i
    ON i.account_id = n.account_id AND i.livemode = n.livemode AND i.id = n.invoice_id
 WHERE n.account_id = %(account_id)s AND n.livemode = %(livemode)s
"""


async def page(
    db: Db, scope: Scope, *, resolved: bool, after: str | None, limit: int
) -> list[NoticeView]:
    """Up to `limit` notices, newest first, from behind the id `after`; open or resolved ones."""
    return await db.all(
        _PAGE
        + " AND (n.resolved_at IS NOT NULL) = %(resolved)s"
        + given((after, " AND n.id < %(after)s"))
        + " ORDER BY n.id DESC LIMIT %(limit)s",
        NoticeView,
        **scope.params,
        resolved=resolved,
        after=after,
        limit=limit,
    )


async def one(db: Db, scope: Scope, notice_id: str) -> NoticeView | None:
    """The notice of this id, or None."""
    return await db.one(
        _PAGE + " AND n.id = %(notice_id)s", NoticeView, **scope.params, notice_id=notice_id
    )


async def count(db: Db, scope: Scope, *, resolved: bool) -> int:
    """How many notices are open, or resolved."""
    found = await db.one(
        """
        SELECT count(*)
          FROM anchorhold.notice n
         WHERE n.account_id = %(account_id)s AND n.livemode = %(livemode)s
           AND (n.resolved_at IS NOT NULL) = %(resolved)s
        """,
        int,
        **scope.params,
        resolved=resolved,
    )
    return found or 0

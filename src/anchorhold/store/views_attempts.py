"""Attempts as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.attempt import AttemptKind, AttemptState, Cause
from anchorhold.domain.ids import AccountId, AttemptId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class AttemptView:
    """One taking of a hold and what became of it; the amount is in minor units."""

    id: AttemptId
    account_id: AccountId
    livemode: bool
    invoice_id: InvoiceId
    seq: int
    kind: AttemptKind
    actor: str
    state: AttemptState
    cause: Cause | None
    rule: str | None
    amount: int
    currency: str
    payment_method: str | None
    intent_id: str | None
    charge_id: str | None
    request_id: str | None
    idempotency_key: str | None
    decline: dict[str, object] | None
    hold_until: datetime
    claimed_at: datetime
    sent_at: datetime | None
    ended_at: datetime | None


_PAGE = """
SELECT a.id, a.account_id, a.livemode, a.invoice_id, a.seq, a.kind, a.actor, a.state,
       a.cause, a.rule, a.amount, a.currency, a.payment_method, a.intent_id, a.charge_id,
       a.request_id, a.idempotency_key, a.decline, a.hold_until, a.claimed_at, a.sent_at,
       a.ended_at
  FROM anchorhold.attempt a
 WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
"""


async def page(
    db: Db,
    scope: Scope,
    *,
    state: AttemptState | None,
    invoice_id: InvoiceId | None,
    after: str | None,
    limit: int,
) -> list[AttemptView]:
    """Up to `limit` attempts, newest first, from behind the id `after`."""
    return await db.all(
        _PAGE
        + given(
            (state, " AND a.state = %(state)s"),
            (invoice_id, " AND a.invoice_id = %(invoice_id)s"),
            (after, " AND a.id < %(after)s"),
        )
        + " ORDER BY a.id DESC LIMIT %(limit)s",
        AttemptView,
        **scope.params,
        state=state,
        invoice_id=invoice_id,
        after=after,
        limit=limit,
    )


_COUNT = """
SELECT count(*)
  FROM anchorhold.attempt a
 WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
"""


async def one(db: Db, scope: Scope, attempt_id: str) -> AttemptView | None:
    """The attempt of this id, or None."""
    return await db.one(
        _PAGE + " AND a.id = %(attempt_id)s", AttemptView, **scope.params, attempt_id=attempt_id
    )


async def count(
    db: Db, scope: Scope, *, state: AttemptState | None, invoice_id: InvoiceId | None
) -> int:
    """How many attempts the filter fits."""
    found = await db.one(
        _COUNT
        + given(
            (state, " AND a.state = %(state)s"),
            (invoice_id, " AND a.invoice_id = %(invoice_id)s"),
        ),
        int,
        **scope.params,
        state=state,
        invoice_id=invoice_id,
    )
    return found or 0

"""The hold of a direct charge: claimed without an intent, re-checked on the disk, taken over.

Each function is one statement, so one transaction; the row that comes back is the proof of having
won (protocol sections 2, 3 and 6). What both modes share is in `store/holds.py`.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from psycopg.types.json import Json

from anchorhold.domain.answer import Deadline
from anchorhold.domain.attempt import CLAIMS_FROM, AttemptKind
from anchorhold.domain.hold import Claim, Sending, Token
from anchorhold.domain.ids import ATTEMPT, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import HoldFacts
from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db
from anchorhold.store.holds import TAKE, Claimed, claim_of

# As the prepared claim reads it, but for the intent: the invoice has none, and the account says
# that it is charged all the same. An invoice with a live intent is always confirmed.
_PICK = """
        WITH picked AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.next_attempt_at, ready.*
              FROM anchorhold.invoice i
             CROSS JOIN LATERAL (
                   SELECT c.stripe_account, s.stripe_customer_id, s.payment_method,
                          NULL::text AS stripe_intent_id,
                          i.amount_due - i.amount_paid AS intent_amount, false AS action_is_old,
                          c.payment_method_types, account.sweep_mode
                     FROM anchorhold.connection c
                     JOIN anchorhold.account
                       ON account.id = c.account_id AND account.charge_mode = 'direct'
                     JOIN anchorhold.stripe_customer s
                       ON s.account_id = c.account_id AND s.livemode = c.livemode
                      AND s.customer_id = i.customer_id AND s.stripe_account = c.stripe_account
                    WHERE c.account_id = i.account_id AND c.livemode = i.livemode
                      AND c.refused_at IS NULL AND s.payment_method IS NOT NULL
                      AND c.lineage = (SELECT anchorhold.lineage())
                      AND NOT EXISTS (
                          SELECT FROM anchorhold.credit_balance b
                           WHERE b.account_id = i.account_id AND b.livemode = i.livemode
                             AND b.customer_id = i.customer_id AND b.currency = i.currency
                             AND b.balance >= i.amount_due - i.amount_paid)
                   OFFSET 0) ready
"""


async def claim_due(db: Db, scope: Scope, timing: Timing, *, limit: int, actor: str) -> list[Claim]:
    """Up to `limit` due invoices without an intent are held, each with its attempt row.

    None unless the account charges directly. Rows that another worker is looking at are skipped.
    """
    rows = await db.all(
        _PICK
        + """
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.status = 'open' AND i.payment_status = 'pending' AND i.hold_until IS NULL
               AND i.collection = 'auto' AND i.blocked_reason IS NULL
               AND i.intent_id IS NULL
               AND i.next_attempt_at <= (SELECT anchorhold.now())
               AND i.amount_due > i.amount_paid
             ORDER BY i.next_attempt_at, i.id
             LIMIT %(limit)s
               FOR UPDATE OF i SKIP LOCKED
        )"""
        + TAKE,
        Claimed,
        **scope.params,
        ids=db.new_ids(ATTEMPT, limit),
        limit=limit,
        kind=AttemptKind.AUTO,
        actor=actor,
        hold_s=timing.hold_seconds,
    )
    return [claim_of(scope, AttemptKind.AUTO, row) for row in rows]


async def claim(
    db: Db, scope: Scope, timing: Timing, invoice_id: InvoiceId, kind: AttemptKind, *, actor: str
) -> Claim | None:
    """The invoice without an intent is held for one charge, or somebody else was first (None)."""
    row = await db.one(
        _PICK
        + """
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s
               AND i.status = 'open' AND i.payment_status = ANY(%(from_statuses)s)
               AND i.hold_until IS NULL AND i.blocked_reason IS DISTINCT FROM 'setup'
               AND i.intent_id IS NULL
               AND i.amount_due > i.amount_paid
               FOR UPDATE OF i
        )"""
        + TAKE,
        Claimed,
        **scope.params,
        invoice_id=invoice_id,
        ids=db.new_ids(ATTEMPT, 1),
        from_statuses=list(CLAIMS_FROM[kind]),
        kind=kind,
        actor=actor,
        hold_s=timing.hold_seconds,
    )
    return claim_of(scope, kind, row) if row else None


@dataclass(frozen=True, slots=True)
class _Left:
    seconds: float


async def recheck(
    db: Db,
    claim: Claim,
    timing: Timing,
    *,
    key: str,
    params: dict[str, object],
    deadline_s: float,
) -> Sending | None:
    """The attempt is `sending`, key and parameters verbatim, or nothing may be sent (None).

    As `holds.recheck`, but what it compares is locked and its commit is on the disk before the
    request leaves: in direct mode `claimed` on a stale hold means that nothing was sent. The clock
    is read before the statement (H11).
    """
    before = db.monotonic()
    left = await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.hold_until
              FROM anchorhold.invoice i
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.hold_until = %(hold_until)s
               AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s
               AND i.status = 'open' AND i.payment_status IN ('pending', 'failed')
               AND i.intent_id IS NULL AND i.currency = %(currency)s
               AND i.amount_due - i.amount_paid = %(amount)s
               FOR NO KEY UPDATE
        )
        UPDATE anchorhold.attempt a
           SET state = 'sending', sent_at = anchorhold.now(),
               idempotency_key = %(key)s, params = %(params)s
          FROM inv
         WHERE a.account_id = inv.account_id AND a.livemode = inv.livemode
           AND a.id = %(attempt_id)s AND a.state = 'claimed' AND a.charge_mode = 'direct'
           AND inv.hold_until - anchorhold.now() >= make_interval(secs => %(min_left_s)s)
        RETURNING extract(epoch FROM inv.hold_until - anchorhold.now())::float8 AS seconds
        """,
        _Left,
        **claim.token.params,
        key=key,
        params=Json(params),
        amount=claim.amount,
        currency=claim.currency,
        min_left_s=timing.min_left_seconds,
    )
    if left is None:
        return None
    ends = before + left.seconds - timing.deadline_margin_seconds
    return Sending(Deadline(min(before + deadline_s, ends)), Deadline(ends))


@dataclass(frozen=True, slots=True)
class _Over:
    hold_until: datetime
    seconds: float
    key: str
    params: dict[str, object]


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A stale hold that is the sweep's own now, with what its attempt sent, verbatim."""

    token: Token
    old_end: datetime
    key: str
    params: dict[str, object]
    deadline: Deadline
    """No byte leaves after then: the hold's end, or the end of the key's use."""


async def take_over(db: Db, facts: HoldFacts, timing: Timing, *, actor: str) -> TakenOver | None:
    """The hold is the caller's until its new end, so that the owner can save nothing any more.

    One compare-and-set on the hold, the counter, the attempt's state and the invoice's status that
    were read (S10). None: something moved, or the key may not be used any longer.
    """
    before = db.monotonic()
    row = await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id
              FROM anchorhold.invoice i
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.hold_until = %(hold_until)s
               AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s
               AND i.status = %(status)s AND i.hold_until <= anchorhold.now()
               FOR UPDATE
        ), own AS (
            UPDATE anchorhold.attempt a
               SET hold_until = anchorhold.now() + make_interval(secs => %(hold_s)s)
              FROM inv
             WHERE a.account_id = inv.account_id AND a.livemode = inv.livemode
               AND a.id = %(attempt_id)s AND a.state = %(state)s AND a.charge_mode = 'direct'
               AND a.sent_at > anchorhold.now() - make_interval(secs => %(fence_s)s)
            RETURNING a.account_id, a.livemode, a.id, a.invoice_id, a.hold_until,
                      a.idempotency_key, a.params, a.sent_at
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'hold.taken_over', 'S10', id,
                   jsonb_build_object('hold_until', hold_until)
              FROM own
        )
        UPDATE anchorhold.invoice i
           SET hold_until = own.hold_until
          FROM own
         WHERE i.account_id = own.account_id AND i.livemode = own.livemode
           AND i.id = own.invoice_id
        RETURNING i.hold_until, own.idempotency_key AS key, own.params,
                  extract(epoch FROM least(
                      own.hold_until,
                      own.sent_at + make_interval(secs => %(fence_s)s)) - anchorhold.now()
                  )::float8 AS seconds
        """,
        _Over,
        **facts.token.params,
        status=facts.status,
        state=facts.own.state,
        hold_s=timing.hold_seconds,
        fence_s=timing.fence_max_seconds,
        actor=actor,
    )
    if row is None:
        return None
    ends = Deadline(before + row.seconds - timing.deadline_margin_seconds)
    token = replace(facts.token, hold_until=row.hold_until)
    return TakenOver(token, facts.token.hold_until, row.key, row.params, ends)


async def give_back(
    db: Db, token: Token, *, hold_until: datetime, error: str, actor: str
) -> str | None:
    """The hold that was taken over ends when it did before, and is asked about; None: it moved.

    Its old end, so that its age still raises the alarm, and so that its owner, should he come back
    after all with Stripe's own answer, can save it.
    """
    return await db.one(
        """
        WITH back AS (
            UPDATE anchorhold.invoice i
               SET hold_until = %(back_to)s, provider_synced_at = anchorhold.now(),
                   check_until = NULL
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(invoice_id)s AND hold_until = %(hold_until)s
               AND hold_attempt = %(attempt_id)s AND charge_seq = %(seq)s
            RETURNING i.account_id, i.livemode, i.id, i.hold_until, i.hold_attempt
        ), own AS (
            UPDATE anchorhold.attempt a
               SET hold_until = back.hold_until
              FROM back
             WHERE a.account_id = back.account_id AND a.livemode = back.livemode
               AND a.id = back.hold_attempt
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
            SELECT account_id, livemode, id, %(actor)s, 'hold.kept', 'S10', hold_attempt,
                   jsonb_strip_nulls(jsonb_build_object('error', nullif(%(error)s::text, '')))
              FROM back
        )
        SELECT id FROM back
        """,
        str,
        **token.params,
        back_to=hold_until,
        error=error,
        actor=actor,
    )


async def interrupted(db: Db, token: Token, *, actor: str) -> str | None:
    """The attempt says that its caller was cancelled while Stripe was asked; nothing else changes.

    What came of the request is not known, so its hold stays (protocol section 4). None: its state
    moved meanwhile.
    """
    return await db.one(
        """
        WITH noted AS (
            UPDATE anchorhold.attempt
               SET cause = 'caller_cancelled'
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(attempt_id)s AND state = 'sending' AND cause IS NULL
            RETURNING account_id, livemode, invoice_id, id
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, attempt_id, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'attempt.interrupted', id,
                   jsonb_build_object('cause', 'caller_cancelled')
              FROM noted
        )
        SELECT id FROM noted
        """,
        str,
        **token.params,
        actor=actor,
    )

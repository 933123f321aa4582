"""Taking, checking and ending the hold: the conditional writes that decide who may charge.

Each function is one statement, so one transaction; the row that comes back is the proof of having
won (protocol sections 1, 3 and 6).
"""

from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Json

from anchorhold.domain.account import SweepMode
from anchorhold.domain.answer import Deadline
from anchorhold.domain.attempt import CLAIMS_FROM, AttemptKind, AttemptState
from anchorhold.domain.hold import Claim, Sending, Token
from anchorhold.domain.ids import ATTEMPT, AttemptId, InvoiceId
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.outcome import End
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db
from anchorhold.store.ending import END
from anchorhold.store.written import written


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim wrote and read, as `TAKE` returns it."""

    invoice_id: InvoiceId
    attempt_id: AttemptId
    hold_until: datetime
    seq: int
    intent_id: str | None
    amount: int
    currency: str
    payment_method: str
    action_is_old: bool
    stripe_account: str
    stripe_customer_id: str
    payment_method_types: tuple[str, ...]
    sweep_mode: SweepMode
    presumed: bool
    card_declined: bool


def claim_of(scope: Scope, kind: AttemptKind, row: Claimed) -> Claim:
    """The claim that this row proves."""
    token = Token(scope, row.invoice_id, row.attempt_id, row.hold_until, row.seq)
    return Claim(
        token,
        kind,
        row.intent_id,
        row.amount,
        row.currency,
        row.payment_method,
        row.action_is_old,
        row.stripe_account,
        row.stripe_customer_id,
        row.payment_method_types,
        row.sweep_mode,
        row.presumed,
        row.card_declined,
    )


# Both claims read an invoice with its customer and its live intent at the connected account; the
# intent was made for what is due (section 2: a confirm takes the amount that Stripe showed last).
# OFFSET 0 keeps the invoices outermost: in the order of their index, and no more than are taken.
_PICK = """
        WITH picked AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.next_attempt_at, ready.*
              FROM anchorhold.invoice i
             CROSS JOIN LATERAL (
                   SELECT c.stripe_account, s.stripe_customer_id, s.payment_method,
                          t.stripe_intent_id, t.amount AS intent_amount,
                          coalesce(t.action_since < anchorhold.now() - interval '60 minutes',
                                   false) AS action_is_old,
                          c.payment_method_types, 'fence' AS sweep_mode
                     FROM anchorhold.connection c
                     JOIN anchorhold.stripe_customer s
                       ON s.account_id = c.account_id AND s.livemode = c.livemode
                      AND s.customer_id = i.customer_id AND s.stripe_account = c.stripe_account
                     JOIN anchorhold.intent t
                       ON t.account_id = c.account_id AND t.livemode = c.livemode
                      AND t.stripe_intent_id = i.intent_id AND t.stripe_account = c.stripe_account
                      AND t.amount = i.amount_due - i.amount_paid AND t.currency = i.currency
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

# What both claims do with the invoices they picked: hold, attempt and journal in one commit.
# One that waited for its lock was looked at again, but not what LATERAL had read: compared here.
TAKE = """
    , numbered AS (
        SELECT p.*, ids.attempt_id
          FROM (SELECT picked.*, row_number() OVER (ORDER BY next_attempt_at, id) AS n,
                       row_number() OVER (PARTITION BY payment_method
                                          ORDER BY next_attempt_at, id) > 1 AS card_again
                  FROM picked) p
          JOIN unnest(%(ids)s::text[]) WITH ORDINALITY AS ids(attempt_id, n) USING (n)
    ), held AS (
        UPDATE anchorhold.invoice i
           SET hold_until = anchorhold.now() + make_interval(secs => %(hold_s)s),
               hold_attempt = n.attempt_id
          FROM numbered n
         WHERE i.account_id = n.account_id AND i.livemode = n.livemode AND i.id = n.id
           AND i.hold_until IS NULL
           AND i.intent_id IS NOT DISTINCT FROM n.stripe_intent_id
           AND i.amount_due - i.amount_paid = n.intent_amount
        RETURNING i.account_id, i.livemode, i.id, i.hold_until, i.charge_seq, i.intent_id,
                  i.payment_status, i.amount_due - i.amount_paid AS amount, i.currency,
                  n.attempt_id, n.stripe_account, n.stripe_customer_id, n.payment_method,
                  n.action_is_old, n.payment_method_types, n.sweep_mode,
                  EXISTS (SELECT FROM anchorhold.attempt p
                           WHERE p.account_id = i.account_id AND p.livemode = i.livemode
                             AND p.invoice_id = i.id AND p.state = 'presumed_none') AS presumed,
                  n.card_again OR EXISTS (
                      SELECT FROM anchorhold.attempt d
                       WHERE d.account_id = i.account_id AND d.livemode = i.livemode
                         AND d.payment_method = n.payment_method AND d.state = 'failed'
                         AND d.ended_at > anchorhold.now() - interval '30 days') AS card_declined
    ), attempt AS (
        INSERT INTO anchorhold.attempt
               (account_id, livemode, id, invoice_id, seq, kind, actor, found_status, amount,
                currency, stripe_account, stripe_customer_id, payment_method, intent_id,
                hold_until, charge_mode)
        SELECT account_id, livemode, attempt_id, id, charge_seq, %(kind)s, %(actor)s,
               payment_status, amount, currency, stripe_account, stripe_customer_id,
               payment_method, intent_id, hold_until,
               CASE WHEN intent_id IS NULL THEN 'direct' ELSE 'prepared' END
          FROM held
    ), told AS (
        INSERT INTO anchorhold.journal
               (account_id, livemode, invoice_id, actor, what, attempt_id, detail)
        SELECT account_id, livemode, id, %(actor)s, 'attempt.claimed', attempt_id,
               jsonb_build_object('kind', %(kind)s::text, 'amount', amount,
                                  'currency', currency, 'hold_until', hold_until)
          FROM held
    )
    SELECT id AS invoice_id, attempt_id, hold_until, charge_seq AS seq, intent_id, amount,
           currency, payment_method, action_is_old, stripe_account, stripe_customer_id,
           payment_method_types, sweep_mode, presumed, card_declined
      FROM held
"""


async def claim_due(db: Db, scope: Scope, timing: Timing, *, limit: int, actor: str) -> list[Claim]:
    """Up to `limit` due invoices are held for an automatic charge, each with its attempt row.

    Rows that another worker is looking at are skipped, so several workers share them out.
    """
    rows = await db.all(
        _PICK
        + """
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.status = 'open' AND i.payment_status = 'pending' AND i.hold_until IS NULL
               AND i.collection = 'auto' AND i.blocked_reason IS NULL
               AND i.intent_id IS NOT NULL
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
    """The invoice is held for one charge of this kind, or somebody else was first (None).

    Waits for a writer of the invoice's row; the predicate is evaluated on what that one left.
    """
    row = await db.one(
        _PICK
        + """
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s
               AND i.status = 'open' AND i.payment_status = ANY(%(from_statuses)s)
               AND i.hold_until IS NULL AND i.blocked_reason IS DISTINCT FROM 'setup'
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

    Only while the hold is still the owner's with MIN_LEFT left, and invoice, counter, intent and
    amount are as claimed (protocol section 3, step 3). The clock is read before the statement, so
    that the time it took counts against the deadline (H11). The commit does not wait for the
    disk: the claim's did, and in prepared mode the intent is retrieved whatever the mark says.
    """
    before = db.monotonic()
    left = await db.one(
        """
        WITH eased AS (SELECT set_config('synchronous_commit', 'off', true) AS done)
        UPDATE anchorhold.attempt a
           SET state = 'sending', sent_at = anchorhold.now(),
               idempotency_key = %(key)s, params = %(params)s
          FROM anchorhold.invoice i, eased
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s AND i.hold_until = %(hold_until)s
           AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s
           AND i.status = 'open' AND i.payment_status IN ('pending', 'failed')
           AND i.intent_id = %(intent_id)s AND i.currency = %(currency)s
           AND i.amount_due - i.amount_paid = %(amount)s
           AND i.hold_until - anchorhold.now() >= make_interval(secs => %(min_left_s)s)
           AND a.account_id = i.account_id AND a.livemode = i.livemode
           AND a.id = %(attempt_id)s AND a.state = 'claimed' AND eased.done IS NOT NULL
        RETURNING extract(epoch FROM i.hold_until - anchorhold.now())::float8 AS seconds
        """,
        _Left,
        **claim.token.params,
        key=key,
        params=Json(params),
        intent_id=claim.intent_id,
        amount=claim.amount,
        currency=claim.currency,
        min_left_s=timing.min_left_seconds,
    )
    if left is None:
        return None
    ends = before + left.seconds - timing.deadline_margin_seconds
    return Sending(Deadline(min(before + deadline_s, ends)), Deadline(ends))


@dataclass(frozen=True, slots=True)
class Ended:
    """What ending an attempt left behind."""

    status: InvoiceStatus
    cleared: bool


async def end(
    db: Db,
    token: Token,
    end: End,
    *,
    states: frozenset[AttemptState],
    statuses: frozenset[InvoiceStatus],
    actor: str,
    source: str = "answer",
) -> Ended | None:
    """The attempt ends as `end` says, or nothing changed because something moved (None).

    One compare-and-set on the hold, the counter, the attempt's state and the invoice's status, as
    the owner claimed them or the sweep read them (sections 3.5 and 6, H2, F7, F8): outcome,
    counter and release are one commit. None: keep everything, the sweep finds out; so too when
    the database lost the mark `sending`, and with it the evidence of the request.
    """
    return await db.one(
        END,
        Ended,
        **token.params,
        **written(end),
        states=list(states),
        statuses=list(statuses),
        actor=actor,
        source=source,
    )

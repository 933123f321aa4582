"""Taking the hold of an invoice to close it, and releasing it unclosed (protocol section 5).

Each function is one statement, so one transaction.
"""

from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from anchorhold.domain.attempt import CLAIMS_FROM, AttemptKind, Cause
from anchorhold.domain.closing import Held
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import ATTEMPT, NOTICE, AttemptId, CustomerId, InvoiceId
from anchorhold.domain.invoice import Collection, InvoiceStatus
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db, only
from anchorhold.store.own_hold import AS_OWN, DONE, LOCKED


@dataclass(frozen=True, slots=True)
class _Held:
    attempt_id: AttemptId
    hold_until: datetime
    seq: int
    customer_id: CustomerId
    currency: str
    amount_due: int
    amount_paid: int
    intent_id: str | None
    intent_account: str | None


_CLAIM = """
WITH held AS (
    UPDATE anchorhold.invoice i
       SET hold_until = anchorhold.now() + make_interval(secs => %(hold_s)s),
           hold_attempt = %(attempt_id)s
     WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
       AND i.id = %(invoice_id)s
       AND i.status = 'open' AND i.payment_status = ANY(%(from_statuses)s)
       AND i.hold_until IS NULL
       AND NOT EXISTS (SELECT FROM anchorhold.connection c
                        WHERE c.account_id = i.account_id AND c.livemode = i.livemode
                          AND c.lineage <> (SELECT anchorhold.lineage()))
    RETURNING i.account_id, i.livemode, i.id, i.hold_until, i.charge_seq, i.customer_id,
              i.currency, i.amount_due, i.amount_paid, i.intent_id, i.payment_status,
              (SELECT t.stripe_account FROM anchorhold.intent t
                WHERE t.account_id = i.account_id AND t.livemode = i.livemode
                  AND t.stripe_intent_id = i.intent_id) AS intent_account
), attempt AS (
    INSERT INTO anchorhold.attempt
           (account_id, livemode, id, invoice_id, seq, kind, actor, found_status, amount,
            currency, stripe_account, intent_id, hold_until)
    SELECT account_id, livemode, %(attempt_id)s, id, charge_seq, %(kind)s, %(actor)s,
           payment_status, amount_due - amount_paid, currency, intent_account, intent_id,
           hold_until
      FROM held
), told AS (
    INSERT INTO anchorhold.journal
           (account_id, livemode, invoice_id, actor, what, attempt_id, detail)
    SELECT account_id, livemode, id, %(actor)s, 'attempt.claimed', %(attempt_id)s,
           jsonb_build_object('kind', %(kind)s::text, 'amount', amount_due - amount_paid,
                              'currency', currency, 'hold_until', hold_until)
      FROM held
)
SELECT %(attempt_id)s::text AS attempt_id, hold_until, charge_seq AS seq, customer_id, currency,
       amount_due, amount_paid, intent_id, intent_account
  FROM held
"""


async def claim(
    db: Db, scope: Scope, timing: Timing, invoice_id: InvoiceId, kind: AttemptKind, *, actor: str
) -> Held | None:
    """The invoice is held to be closed or changed, or somebody else was first (None).

    It needs neither an intent nor a customer at Stripe, nor an accepted key: what cannot be
    charged can still be closed; but rows that may have lost their tail are recovered first (section
    11). Waits for a writer of the row, as every claim does.
    """
    row = await db.one(
        _CLAIM,
        _Held,
        **scope.params,
        invoice_id=invoice_id,
        attempt_id=only(db.new_ids(ATTEMPT, 1)),
        from_statuses=list(CLAIMS_FROM[kind]),
        kind=kind,
        actor=actor,
        hold_s=timing.hold_seconds,
    )
    if row is None:
        return None
    token = Token(scope, invoice_id, row.attempt_id, row.hold_until, row.seq)
    return Held(
        token,
        kind,
        row.customer_id,
        row.currency,
        row.amount_due,
        row.amount_paid,
        row.intent_id,
        row.intent_account,
    )


@dataclass(frozen=True, slots=True)
class Release:
    """What releasing a hold that sent no charge says; `canceled`: Stripe cancelled the intent.

    `follows`: the intent that the invoice follows from now on. `evidence`: a notice is opened with
    it. `pause_s`: no automatic act before so many seconds.
    """

    rule: str
    cause: Cause
    canceled: bool = False
    follows: str | None = None
    evidence: dict[str, object] | None = None
    collection: Collection | None = None
    pause_s: float = 0


_OWN = """
, own AS MATERIALIZED (SELECT * FROM inv)
"""

_FREE = """
, free AS (
    UPDATE anchorhold.invoice i
       SET hold_until = NULL, hold_attempt = NULL, check_until = NULL,
           payment_status = CASE WHEN %(follows)s::text IS NOT NULL THEN 'processing'
                                 ELSE i.payment_status END,
           followed_intent_id = coalesce(%(follows)s, i.followed_intent_id),
           followed_at = CASE WHEN %(follows)s::text IS NOT NULL THEN anchorhold.now()
                              ELSE i.followed_at END,
           charge_seq = i.charge_seq + (%(follows)s::text IS NOT NULL)::int,
           intent_id = CASE WHEN %(canceled)s THEN NULL ELSE i.intent_id END,
           collection = coalesce(%(collection)s, i.collection),
           next_attempt_at = greatest(
               i.next_attempt_at,
               CASE WHEN %(pause_s)s > 0
                    THEN anchorhold.now() + make_interval(secs => %(pause_s)s) END)
      FROM own
     WHERE i.account_id = own.account_id AND i.livemode = own.livemode AND i.id = own.id
    RETURNING i.account_id, i.livemode, i.id, i.status
), noticed AS (
    INSERT INTO anchorhold.notice (account_id, livemode, id, code, invoice_id, subject, evidence)
    SELECT account_id, livemode, %(notice_id)s, 'close.refused', id, %(attempt_id)s,
           %(evidence)s::jsonb
      FROM free
     WHERE %(evidence)s::jsonb IS NOT NULL
    ON CONFLICT DO NOTHING
), told AS (
    INSERT INTO anchorhold.journal
           (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
    SELECT account_id, livemode, id, %(actor)s, 'attempt.not_sent', %(rule)s, %(attempt_id)s,
           jsonb_strip_nulls(jsonb_build_object(
               'cause', %(cause)s::text, 'follows', %(follows)s::text,
               'evidence', %(evidence)s::jsonb))
      FROM free
)
SELECT status FROM free
"""


async def release(
    db: Db, token: Token, what: Release, *, statuses: frozenset[InvoiceStatus], actor: str
) -> InvoiceStatus | None:
    """The hold ends and nothing was closed; the attempt sent no charge. None: something moved.

    `statuses` is OPEN unless the intent is known to be at its end: on an invoice that was closed
    meanwhile the hold stays, and the sweep cancels what can still be paid (F7).
    """
    return await db.one(
        LOCKED + AS_OWN + _OWN + DONE + _FREE,
        InvoiceStatus,
        **token.params,
        statuses=list(statuses),
        rule=what.rule,
        cause=what.cause,
        canceled=what.canceled,
        follows=what.follows,
        evidence=None if what.evidence is None else Jsonb(what.evidence),
        collection=what.collection,
        pause_s=what.pause_s,
        notice_id=only(db.new_ids(NOTICE, 1)),
        actor=actor,
    )


async def write_off_under_way(
    db: Db, scope: Scope, invoice_id: InvoiceId, *, reason: str, actor: str
) -> InvoiceStatus | None:
    """An invoice with a charge under way is given up; its hold or its following stays (None: no).

    Allowed on a stale or parked hold and while an intent is followed, never on a live one (section
    5). The sweep and the follower look at it as before: a late success still becomes its payment.
    """
    return await db.one(
        """
        WITH closed AS (
            UPDATE anchorhold.invoice i
               SET status = 'uncollectible', closed_at = anchorhold.now(),
                   close_reason = %(reason)s
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status = 'open'
               AND (i.hold_until <= anchorhold.now()
                    OR (i.hold_until IS NULL AND i.followed_intent_id IS NOT NULL)
                    OR (i.payment_status = 'unknown' AND i.intent_id IS NULL
                        AND i.followed_intent_id IS NULL))
            RETURNING i.account_id, i.livemode, i.id, i.status, i.currency,
                      i.amount_due - i.amount_paid AS remaining, i.hold_attempt,
                      i.hold_until IS NOT NULL AS held
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
            SELECT account_id, livemode, id, %(actor)s, 'invoice.write_off', 'G9', hold_attempt,
                   jsonb_build_object('reason', %(reason)s::text, 'amount', remaining,
                                      'currency', currency, 'held', held)
              FROM closed
        )
        SELECT status FROM closed
        """,
        InvoiceStatus,
        **scope.params,
        invoice_id=invoice_id,
        reason=reason,
        actor=actor,
    )

"""What the sweep reads and stamps: stale holds, shared out among workers (protocol section 6)."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.account import AfterPresumedNone, SweepMode
from anchorhold.domain.attempt import AttemptFacts
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import AttemptId, InvoiceId
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import HoldFacts
from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Taken:
    """A stale hold whose check is the reader's for a minute."""

    invoice_id: InvoiceId


async def take(
    db: Db, scope: Scope, timing: Timing, *, run_started: datetime, limit: int
) -> list[Taken]:
    """Up to `limit` stale holds are taken for a check, each once a run; others skip them.

    Open invoices first, then those that waited longest. A kept hold comes again after RECHECK;
    a direct one is first looked at SWEEP_WAIT after its end.
    None are left when the run's budget is spent: the rest wait for the next run.
    """
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.status = 'open' AS open,
                   i.provider_synced_at, i.hold_until
              FROM anchorhold.invoice i
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.hold_until IS NOT NULL
               AND i.hold_until <= (SELECT anchorhold.now())
               AND (i.hold_until <= (SELECT anchorhold.now())
                                    - make_interval(secs => %(sweep_wait_s)s)
                    OR NOT EXISTS (SELECT FROM anchorhold.attempt a
                                    WHERE a.account_id = i.account_id AND a.livemode = i.livemode
                                      AND a.id = i.hold_attempt AND a.charge_mode = 'direct'))
               AND (i.check_until IS NULL OR i.check_until < (SELECT anchorhold.now()))
               AND (i.checked_at IS NULL OR i.checked_at < %(run_started)s)
               AND (SELECT anchorhold.now()) < %(run_started)s
                                             + make_interval(secs => %(budget_s)s)
               AND (i.provider_synced_at IS NULL OR i.provider_synced_at < i.hold_until
                    OR i.provider_synced_at
                       < (SELECT anchorhold.now()) - make_interval(secs => %(recheck_s)s))
             ORDER BY i.status = 'open' DESC, i.provider_synced_at NULLS FIRST, i.hold_until, i.id
             LIMIT %(limit)s
               FOR UPDATE SKIP LOCKED
        ), taken AS (
            UPDATE anchorhold.invoice i
               SET check_until = anchorhold.now() + make_interval(secs => %(lease_s)s),
                   checked_at = anchorhold.now()
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = ANY(ARRAY(SELECT id FROM picked))
            RETURNING i.id
        )
        SELECT t.id AS invoice_id
          FROM taken t JOIN picked p USING (id)
         ORDER BY p.open DESC, p.provider_synced_at NULLS FIRST, p.hold_until, p.id
        """,
        Taken,
        **scope.params,
        run_started=run_started,
        recheck_s=timing.recheck_seconds,
        sweep_wait_s=timing.sweep_wait_seconds,
        budget_s=timing.sweep_budget_seconds,
        lease_s=timing.check_lease_seconds,
        limit=limit,
    )


@dataclass(frozen=True, slots=True)
class _Now:
    at: datetime


async def now(db: Db) -> datetime:
    """The one clock."""
    row = await db.one("SELECT anchorhold.now() AS at", _Now)
    if row is None:
        raise RuntimeError("the clock returned no row")
    return row.at


@dataclass(frozen=True, slots=True)
class _Invoice:
    status: InvoiceStatus
    payment_status: PaymentStatus
    hold_until: datetime | None
    hold_attempt: AttemptId | None
    charge_seq: int
    intent_id: str | None
    followed_intent_id: str | None
    stripe_customer_id: str | None
    stripe_account: str
    live: bool
    sweep_mode: SweepMode
    after_presumed_none: AfterPresumedNone
    now: datetime


async def facts(db: Db, scope: Scope, invoice_id: InvoiceId) -> HoldFacts | None:
    """What the rows say about a held invoice now, or None when it is not held.

    Every later write of the check compares the hold, counter, attempt's state and status read
    here, so the two reads need no common snapshot.
    """
    invoice = await _invoice(db, scope, invoice_id)
    if invoice is None or invoice.hold_until is None or invoice.hold_attempt is None:
        return None
    attempts = await _attempts(db, scope, invoice_id)
    own = next(row for row in attempts if row.id == invoice.hold_attempt)
    token = Token(scope, invoice_id, invoice.hold_attempt, invoice.hold_until, invoice.charge_seq)
    return HoldFacts(
        token=token,
        status=invoice.status,
        payment_status=invoice.payment_status,
        intent_id=invoice.intent_id,
        followed_intent_id=invoice.followed_intent_id,
        stripe_customer_id=invoice.stripe_customer_id,
        stripe_account=invoice.stripe_account,
        own=own,
        others=tuple(row for row in attempts if row.id != own.id),
        live=invoice.live,
        sweep_mode=invoice.sweep_mode,
        after_presumed_none=invoice.after_presumed_none,
        now=invoice.now,
    )


async def _invoice(db: Db, scope: Scope, invoice_id: InvoiceId) -> _Invoice | None:
    return await db.one(
        """
        SELECT i.status, i.payment_status, i.hold_until, i.hold_attempt, i.charge_seq,
               i.intent_id, i.followed_intent_id, s.stripe_customer_id, c.stripe_account,
               coalesce(i.hold_until > anchorhold.now(), false) AS live,
               account.sweep_mode, account.after_presumed_none, anchorhold.now() AS now
          FROM anchorhold.invoice i
          JOIN anchorhold.connection c USING (account_id, livemode)
          JOIN anchorhold.account ON account.id = i.account_id
          LEFT JOIN anchorhold.stripe_customer s
            ON s.account_id = i.account_id AND s.livemode = i.livemode
           AND s.customer_id = i.customer_id AND s.stripe_account = c.stripe_account
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s
        """,
        _Invoice,
        **scope.params,
        invoice_id=invoice_id,
    )


async def _attempts(db: Db, scope: Scope, invoice_id: InvoiceId) -> list[AttemptFacts]:
    return await db.all(
        """
        SELECT id, kind, state, seq, intent_id, payment_method, stripe_account, idempotency_key,
               claimed_at, sent_at, charge_id, charge_mode, cause, rule, stripe_customer_id
          FROM anchorhold.attempt
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND invoice_id = %(invoice_id)s
         ORDER BY id
        """,
        AttemptFacts,
        **scope.params,
        invoice_id=invoice_id,
    )


async def keep(
    db: Db, token: Token, *, rule: str, error: str, actor: str, follows: bool
) -> str | None:
    """The hold stays and the invoice is stamped as asked about; None when the hold moved.

    An invoice that follows an intent is not stamped here: the column is its follower's rotation.
    """
    return await db.one(
        """
        WITH kept AS (
            UPDATE anchorhold.invoice
               SET provider_synced_at = CASE WHEN %(follows)s THEN provider_synced_at
                                             ELSE anchorhold.now() END,
                   check_until = NULL
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(invoice_id)s AND hold_until = %(hold_until)s
               AND hold_attempt = %(attempt_id)s AND charge_seq = %(seq)s
            RETURNING account_id, livemode, id
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, attempt_id, detail)
            SELECT account_id, livemode, id, %(actor)s, 'hold.kept', %(rule)s, %(attempt_id)s,
                   jsonb_strip_nulls(jsonb_build_object('error', nullif(%(error)s::text, '')))
              FROM kept
        )
        SELECT id FROM kept
        """,
        str,
        **token.params,
        rule=rule,
        error=error,
        actor=actor,
        follows=follows,
    )

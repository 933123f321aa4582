"""Dunning runs: opened, taken, looked at, paused. Steps are in `dunning_steps.py`.

One function, one statement, one transaction. Payment and every other close end a run by a trigger
of the schema, in their own transaction.
"""

from dataclasses import dataclass
from datetime import datetime, time

from anchorhold.domain.answer import Decline
from anchorhold.domain.closing import FinalAction
from anchorhold.domain.dunning import CARD_TRIES_MAX, CARD_WINDOW, Facts, Policy
from anchorhold.domain.ids import DUNNING_RUN, DunningRunId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


async def open_runs(db: Db, scope: Scope, *, limit: int, actor: str) -> list[str]:
    """Up to `limit` failed invoices have a run each, by their customer's policy or the default.

    An invoice has one run in its life. Invoices that only a person collects, whose set-up Stripe
    refused, or that are held, have none yet.
    """
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, i.customer_id, policy.policy_id,
                   row_number() OVER () AS n
              FROM (
                   SELECT f.account_id, f.livemode, f.id, f.customer_id
                     FROM anchorhold.invoice f
                    WHERE f.account_id = %(account_id)s AND f.livemode = %(livemode)s
                      AND f.status = 'open' AND f.payment_status = 'failed'
                      AND f.hold_until IS NULL AND f.collection = 'auto'
                      AND f.blocked_reason IS DISTINCT FROM 'setup'
                      AND EXISTS (SELECT FROM anchorhold.dunning_assignment a
                                   WHERE a.account_id = f.account_id
                                     AND a.livemode = f.livemode
                                     AND coalesce(a.customer_id, f.customer_id) = f.customer_id)
                      AND NOT EXISTS (SELECT FROM anchorhold.dunning_run r
                                       WHERE r.account_id = f.account_id
                                         AND r.livemode = f.livemode AND r.invoice_id = f.id)
                    ORDER BY f.id
                    LIMIT %(limit)s
                      FOR UPDATE OF f SKIP LOCKED) i
             CROSS JOIN LATERAL (
                   SELECT a.policy_id
                     FROM anchorhold.dunning_assignment a
                    WHERE a.account_id = i.account_id AND a.livemode = i.livemode
                      AND coalesce(a.customer_id, i.customer_id) = i.customer_id
                    ORDER BY a.customer_id NULLS LAST
                    LIMIT 1) policy
        ), opened AS (
            INSERT INTO anchorhold.dunning_run
                   (account_id, livemode, id, invoice_id, customer_id, policy_id)
            SELECT p.account_id, p.livemode, ids.id, p.id, p.customer_id, p.policy_id
              FROM picked p
              JOIN unnest(%(ids)s::text[]) WITH ORDINALITY AS ids (id, n) USING (n)
            ON CONFLICT ON CONSTRAINT dunning_run_once DO NOTHING
            RETURNING account_id, livemode, id, invoice_id, policy_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'dunning.opened',
                   jsonb_build_object('run_id', id, 'policy_id', policy_id)
              FROM opened
        )
        SELECT invoice_id FROM opened
        """,
        str,
        **scope.params,
        limit=limit,
        ids=list(db.new_ids(DUNNING_RUN, limit)),
        actor=actor,
    )


async def take(db: Db, scope: Scope, *, limit: int, lease_s: float = 300) -> list[str]:
    """Up to `limit` runs that are due are this caller's for `lease_s`; nothing else changes.

    A run whose invoice is held, followed, or for a person to collect is skipped and not counted;
    so is one that is paused (ACCESS, G4). One that goes on has an open invoice: the trigger's.
    """
    return await db.all(
        """
        WITH picked AS MATERIALIZED (
            SELECT r.account_id, r.livemode, r.id
              FROM anchorhold.dunning_run r
              JOIN anchorhold.invoice i
                ON i.account_id = r.account_id AND i.livemode = r.livemode
               AND i.id = r.invoice_id
             WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
               AND r.ended_at IS NULL AND r.paused_at IS NULL
               AND r.next_at <= (SELECT anchorhold.now())
               AND i.payment_status = 'failed' AND i.hold_until IS NULL
               AND i.collection = 'auto' AND i.blocked_reason IS DISTINCT FROM 'setup'
             ORDER BY r.next_at, r.id
             LIMIT %(limit)s
               FOR UPDATE OF r SKIP LOCKED
        )
        UPDATE anchorhold.dunning_run r
           SET next_at = anchorhold.now() + make_interval(secs => %(lease_s)s)
          FROM picked p
         WHERE r.account_id = p.account_id AND r.livemode = p.livemode AND r.id = p.id
        RETURNING r.id
        """,
        str,
        **scope.params,
        limit=limit,
        lease_s=lease_s,
    )


@dataclass(frozen=True, slots=True)
class Run:
    """A run that goes on, with its policy and what the rows say about its invoice."""

    id: DunningRunId
    invoice_id: InvoiceId
    step: int
    policy: Policy
    facts: Facts


@dataclass(frozen=True, slots=True)
class _Looked:
    id: DunningRunId
    invoice_id: InvoiceId
    step: int
    waits_hours: tuple[int, ...]
    at: time | None
    zone: str
    final_action: FinalAction
    now: datetime
    opened_at: datetime
    retries: int
    tries: int
    declined_at: datetime | None
    decline: dict[str, str] | None
    declined_method: str | None
    method: str | None
    card_declines: int
    card_free_at: datetime | None


_LOOK = """
SELECT r.id, r.invoice_id, r.step, p.waits_hours, p.at, p.zone, p.final_action, clock.now,
       r.opened_at, counted.retries, counted.tries, last.ended_at AS declined_at, last.decline,
       last.payment_method AS declined_method, s.payment_method AS method,
       card.declines AS card_declines, card.free_at AS card_free_at
  FROM anchorhold.dunning_run r
 CROSS JOIN (SELECT anchorhold.now() AS now) clock
  JOIN anchorhold.dunning_policy p
    ON p.account_id = r.account_id AND p.livemode = r.livemode AND p.id = r.policy_id
  LEFT JOIN anchorhold.connection c
    ON c.account_id = r.account_id AND c.livemode = r.livemode
  LEFT JOIN anchorhold.stripe_customer s
    ON s.account_id = r.account_id AND s.livemode = r.livemode
   AND s.customer_id = r.customer_id AND s.stripe_account = c.stripe_account
 CROSS JOIN LATERAL (
       SELECT count(*) FILTER (WHERE a.kind = 'dunning' AND a.state = 'failed')::int AS retries,
              count(*)::int AS tries
         FROM anchorhold.attempt a
        WHERE a.account_id = r.account_id AND a.livemode = r.livemode
          AND a.invoice_id = r.invoice_id AND a.kind IN ('auto', 'dunning', 'collect')
          AND a.state IN ('failed', 'succeeded', 'processing')) counted
  LEFT JOIN LATERAL (
       SELECT a.ended_at, a.decline, a.payment_method
         FROM anchorhold.attempt a
        WHERE a.account_id = r.account_id AND a.livemode = r.livemode
          AND a.invoice_id = r.invoice_id AND a.state = 'failed'
        ORDER BY a.id DESC
        LIMIT 1) last ON true
 CROSS JOIN LATERAL (
       SELECT count(*)::int AS declines,
              CASE WHEN count(*) >= %(card_max)s
                   THEN min(d.ended_at) + %(card_window)s::interval END AS free_at
         FROM (SELECT a.ended_at
                 FROM anchorhold.attempt a
                WHERE a.account_id = r.account_id AND a.livemode = r.livemode
                  AND a.payment_method = s.payment_method AND a.state = 'failed'
                  AND a.ended_at > clock.now - %(card_window)s::interval
                ORDER BY a.ended_at DESC
                LIMIT %(card_max)s) d) card
 WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s AND r.id = %(run_id)s
   AND r.ended_at IS NULL
"""


async def look(db: Db, scope: Scope, run_id: DunningRunId) -> Run | None:
    """The run with everything that decides its next step, or None: it has ended."""
    row = await db.one(
        _LOOK,
        _Looked,
        **scope.params,
        run_id=run_id,
        card_max=CARD_TRIES_MAX,
        card_window=CARD_WINDOW,
    )
    return _run_of(row) if row else None


def _run_of(row: _Looked) -> Run:
    facts = Facts(
        now=row.now,
        opened_at=row.opened_at,
        retries=row.retries,
        tries=row.tries,
        declined_at=row.declined_at,
        decline=_decline_of(row.decline),
        declined_method=row.declined_method,
        method=row.method,
        card_declines=row.card_declines,
        card_free_at=row.card_free_at,
    )
    policy = Policy(row.waits_hours, row.at, row.zone, row.final_action)
    return Run(row.id, row.invoice_id, row.step, policy, facts)


def _decline_of(kept: dict[str, str] | None) -> Decline | None:
    if not kept or not kept.get("code"):
        return None
    return Decline(
        kept["code"], kept.get("decline_code"), kept.get("advice_code"), kept.get("message") or ""
    )


async def pause(
    db: Db, scope: Scope, run_id: DunningRunId, *, reason: str, actor: str
) -> str | None:
    """No step of the run is begun any more; None: it has ended, or is paused."""
    return await db.one(
        """
        WITH paused AS (
            UPDATE anchorhold.dunning_run r
               SET paused_at = anchorhold.now(), paused_reason = %(reason)s
             WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
               AND r.id = %(run_id)s AND r.ended_at IS NULL AND r.paused_at IS NULL
            RETURNING r.account_id, r.livemode, r.id, r.invoice_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'dunning.paused',
                   jsonb_build_object('run_id', id, 'reason', %(reason)s::text)
              FROM paused
        )
        SELECT id FROM paused
        """,
        str,
        **scope.params,
        run_id=run_id,
        reason=reason,
        actor=actor,
    )


async def resume(
    db: Db, scope: Scope, run_id: DunningRunId, *, reason: str, actor: str
) -> str | None:
    """The run goes on and is looked at next; None: it has ended, or is not paused."""
    return await db.one(
        """
        WITH resumed AS (
            UPDATE anchorhold.dunning_run r
               SET paused_at = NULL, paused_reason = NULL, next_at = anchorhold.now()
             WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
               AND r.id = %(run_id)s AND r.ended_at IS NULL AND r.paused_at IS NOT NULL
            RETURNING r.account_id, r.livemode, r.id, r.invoice_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'dunning.resumed',
                   jsonb_build_object('run_id', id, 'reason', %(reason)s::text)
              FROM resumed
        )
        SELECT id FROM resumed
        """,
        str,
        **scope.params,
        run_id=run_id,
        reason=reason,
        actor=actor,
    )

"""Invoices come in, all of a file or nothing; and where one stands."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import CUSTOMER, INVOICE, CustomerId, InvoiceId
from anchorhold.domain.invoice import BlockedReason, Collection, InvoiceStatus, PaymentStatus
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class NewInvoice:
    """One open invoice to take in; the amount is in minor units."""

    reference: str
    customer: str
    email: str | None
    payment_method: str | None
    amount: int
    currency: str
    due_at: datetime


@dataclass(frozen=True, slots=True)
class TakenIn:
    """An invoice as it stands after the import. `created`: it was not there before."""

    id: InvoiceId
    reference: str
    customer_id: CustomerId
    created: bool
    differs: bool
    """It was there before with another amount, currency or customer; it was left alone."""


_TAKE_IN = """
WITH given AS MATERIALIZED (
    SELECT g.*, ids.invoice_id, ids.new_customer_id
      FROM ROWS FROM (jsonb_to_recordset(%(rows)s) AS (
               reference text, customer text, email text, payment_method text, amount bigint,
               currency text, due_at timestamptz)) WITH ORDINALITY
           AS g (reference, customer, email, payment_method, amount, currency, due_at, n)
      JOIN unnest(%(invoice_ids)s::text[], %(customer_ids)s::text[])
           WITH ORDINALITY AS ids (invoice_id, new_customer_id, n) USING (n)
), customers AS (
    INSERT INTO anchorhold.customer
           (account_id, livemode, id, reference, email, payment_method)
    SELECT DISTINCT ON (customer) %(account_id)s, %(livemode)s, new_customer_id,
           customer, email, payment_method
      FROM given
     ORDER BY customer, n
    ON CONFLICT (account_id, livemode, reference) DO NOTHING
    RETURNING id, reference
), known AS (
    SELECT id, reference FROM customers
    UNION ALL
    SELECT c.id, c.reference FROM anchorhold.customer c
     WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
       AND c.reference IN (SELECT customer FROM given)
), taken AS (
    INSERT INTO anchorhold.invoice
           (account_id, livemode, id, customer_id, reference, currency, amount_due,
            status, due_at, next_attempt_at, payment_status, blocked_reason, last_error)
    SELECT %(account_id)s, %(livemode)s, g.invoice_id, k.id, g.reference, g.currency,
           g.amount, 'open', g.due_at, g.due_at,
           CASE WHEN s.refused_code IS NULL THEN 'pending' ELSE 'failed' END,
           CASE WHEN s.refused_code IS NOT NULL THEN 'setup' END,
           CASE WHEN s.refused_code IS NOT NULL
                THEN jsonb_build_object('code', s.refused_code, 'message', s.refused_message) END
      FROM given g
      JOIN known k ON k.reference = g.customer
      LEFT JOIN anchorhold.connection c
        ON c.account_id = %(account_id)s AND c.livemode = %(livemode)s
      LEFT JOIN anchorhold.stripe_customer s
        ON s.account_id = c.account_id AND s.livemode = c.livemode AND s.customer_id = k.id
       AND s.stripe_account = c.stripe_account AND s.refused_code IS NOT NULL
     ORDER BY g.reference
    ON CONFLICT (account_id, livemode, reference) DO NOTHING
    RETURNING id, reference, customer_id, last_error
), noticed AS (
    INSERT INTO anchorhold.notice
           (account_id, livemode, id, code, invoice_id, subject, evidence)
    SELECT %(account_id)s, %(livemode)s, 'ntc_' || substr(id, 5), 'collection.blocked', id,
           last_error ->> 'code', last_error
      FROM taken
     WHERE last_error IS NOT NULL
    ON CONFLICT DO NOTHING
), told AS (
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
    SELECT %(account_id)s, %(livemode)s, id, %(actor)s, 'invoice.opened',
           jsonb_build_object('reference', reference)
      FROM taken
)
SELECT id, reference, customer_id, true AS created, false AS differs FROM taken
UNION ALL
SELECT i.id, i.reference, i.customer_id, false AS created,
       (i.amount_due, i.currency, k.reference) IS DISTINCT FROM
       (g.amount, g.currency, g.customer) AS differs
  FROM given g
  JOIN anchorhold.invoice i
    ON i.account_id = %(account_id)s AND i.livemode = %(livemode)s
   AND i.reference = g.reference
  LEFT JOIN known k ON k.id = i.customer_id
"""


async def take_in(db: Db, scope: Scope, rows: Sequence[NewInvoice], *, actor: str) -> list[TakenIn]:
    """All of the rows are open invoices, each reference once; one transaction.

    A reference that is there already is left as it is, so the same file twice changes nothing.
    A customer is known by its reference; the first row that names it fixes e-mail and method. One
    whose set-up Stripe refused gets its invoices blocked, with a notice, as those it had. Rows
    that another import brings in at this moment, and rows of a customer that it brings in, are
    not among the answers: asked again, they are.
    """
    return await db.all(
        _TAKE_IN,
        TakenIn,
        **scope.params,
        rows=Jsonb([{**asdict(row), "due_at": row.due_at.isoformat()} for row in rows]),
        invoice_ids=list(db.new_ids(INVOICE, len(rows))),
        customer_ids=list(db.new_ids(CUSTOMER, len(rows))),
        actor=actor,
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an invoice stands, as an act has to know it; amounts in minor units."""

    status: InvoiceStatus
    payment_status: PaymentStatus
    collection: Collection
    blocked_reason: BlockedReason | None
    amount_remaining: int
    amount_paid: int
    currency: str
    intent_id: str | None
    followed_intent_id: str | None
    followed_at: datetime | None
    hold: HoldState
    hold_until: datetime | None
    held_directly: bool
    """The hold's attempt charges in one call: it is first looked at SWEEP_WAIT after its end."""
    provider_synced_at: datetime | None
    now: datetime
    customer_id: CustomerId
    payment_method: str | None
    set_up_waits: bool
    """A payment method was given, and Stripe has not answered yet what becomes of it."""
    account_refused: bool
    same_stripe_account: bool
    tries: int
    """Charges of it that a bank answered."""
    recovery_due: bool
    """The database is another one than its rows are known to be whole in (section 11)."""


async def standing(db: Db, scope: Scope, invoice_id: InvoiceId) -> Standing | None:
    """Where the invoice stands at this moment, or None when there is none."""
    return await db.one(
        """
        SELECT i.status, i.payment_status, i.collection, i.blocked_reason,
               i.amount_due - i.amount_paid AS amount_remaining, i.amount_paid, i.currency,
               i.intent_id, i.followed_intent_id, i.followed_at,
               CASE WHEN i.payment_status = 'unknown' AND i.intent_id IS NULL
                         AND i.followed_intent_id IS NULL THEN 'parked'
                    WHEN i.hold_until > clock.now THEN 'live'
                    WHEN i.hold_until IS NOT NULL THEN 'stale'
                    WHEN i.followed_intent_id IS NOT NULL THEN 'following'
                    ELSE 'none' END AS hold,
               i.hold_until, coalesce(h.charge_mode = 'direct', false) AS held_directly,
               i.provider_synced_at, clock.now, i.customer_id, s.payment_method,
               coalesce(s.payment_method IS NULL AND s.refused_code IS NULL
                        AND s.requested_method IS NOT NULL, false) AS set_up_waits,
               coalesce(c.refused_at IS NOT NULL, false) AS account_refused,
               coalesce(t.stripe_account = c.stripe_account, true) AS same_stripe_account,
               (SELECT count(*)::int FROM anchorhold.attempt a
                 WHERE a.account_id = i.account_id AND a.livemode = i.livemode
                   AND a.invoice_id = i.id AND a.kind IN ('auto', 'dunning', 'collect')
                   AND a.state IN ('failed', 'succeeded', 'processing')) AS tries,
               coalesce(c.lineage <> anchorhold.lineage(), false) AS recovery_due
          FROM anchorhold.invoice i
         CROSS JOIN (SELECT anchorhold.now() AS now) clock
          LEFT JOIN anchorhold.connection c USING (account_id, livemode)
          LEFT JOIN anchorhold.stripe_customer s
            ON s.account_id = i.account_id AND s.livemode = i.livemode
           AND s.customer_id = i.customer_id AND s.stripe_account = c.stripe_account
          LEFT JOIN anchorhold.intent t
            ON t.account_id = i.account_id AND t.livemode = i.livemode
           AND t.stripe_intent_id = i.intent_id
          LEFT JOIN anchorhold.attempt h
            ON h.account_id = i.account_id AND h.livemode = i.livemode AND h.id = i.hold_attempt
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s
        """,
        Standing,
        **scope.params,
        invoice_id=invoice_id,
    )

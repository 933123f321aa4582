"""What recovering writes about one PaymentIntent whose row, or what it said, is lost."""

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg.types.json import Json, Jsonb

from anchorhold.domain.answer import IntentView
from anchorhold.domain.ids import NOTICE, InvoiceId, key_of
from anchorhold.domain.recovering import Standing, invoice_of, number_of
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only


@dataclass(frozen=True, slots=True)
class Lost:
    """An intent as Stripe shows it, for a row of its own; minor units."""

    invoice_id: InvoiceId
    number: int
    intent_id: str
    amount: int
    currency: str
    customer: str | None
    metadata: Mapping[str, str]

    @classmethod
    def of(cls, intent: IntentView) -> "Lost | None":
        """The intent, or None: in direct mode intents have no number and no row."""
        number = number_of(intent)
        if number is None:
            return None
        return cls(
            invoice_of(intent),
            number,
            intent.id,
            intent.amount,
            intent.currency,
            intent.customer,
            intent.metadata,
        )

    def params(self, scope: Scope) -> dict[str, object]:
        """The parameters of the statements that write its row."""
        return {
            **scope.params,
            "invoice_id": self.invoice_id,
            "number": self.number,
            "intent_id": self.intent_id,
            "key": key_of("intent", scope.account_id, self.invoice_id, self.number),
            "params": Json({"metadata": dict(self.metadata), "customer": self.customer}),
            "amount": self.amount,
            "currency": self.currency,
        }


async def adopt(db: Db, scope: Scope, lost: Lost, *, actor: str) -> str | None:
    """The intent is its open invoice's live one again; None when the invoice cannot take it.

    Only while the invoice has no intent and no hold, and what is due is the intent's amount.
    """
    return await db.one(
        """
        WITH inv AS MATERIALIZED (
            SELECT i.account_id, i.livemode, i.id, c.stripe_account
              FROM anchorhold.invoice i
              JOIN anchorhold.connection c USING (account_id, livemode)
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status = 'open' AND i.intent_id IS NULL
               AND i.followed_intent_id IS NULL AND i.hold_until IS NULL
               AND i.amount_due - i.amount_paid = %(amount)s AND i.currency = %(currency)s
               FOR UPDATE OF i
        ), made AS (
            INSERT INTO anchorhold.intent
                   (account_id, livemode, invoice_id, number, stripe_intent_id, idempotency_key,
                    params, amount, currency, stripe_account, state)
            SELECT account_id, livemode, id, %(number)s, %(intent_id)s, %(key)s, %(params)s,
                   %(amount)s, %(currency)s, stripe_account, 'live'
              FROM inv
            ON CONFLICT DO NOTHING
            RETURNING account_id, livemode, invoice_id, number, stripe_intent_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'intent.recovered',
                   jsonb_build_object('number', number, 'stripe_intent_id', stripe_intent_id)
              FROM made
        )
        UPDATE anchorhold.invoice i
           SET intent_id = m.stripe_intent_id
          FROM made m
         WHERE i.account_id = m.account_id AND i.livemode = m.livemode AND i.id = m.invoice_id
        RETURNING i.intent_id
        """,
        str,
        **lost.params(scope),
        actor=actor,
    )


async def remember(db: Db, scope: Scope, lost: Lost, *, state: str, actor: str) -> str | None:
    """The ended intent has its row again, so that its number is not taken once more.

    None: it has one, or there is no such invoice. `state` is `succeeded` or `canceled`.
    """
    return await db.one(
        """
        WITH made AS (
            INSERT INTO anchorhold.intent
                   (account_id, livemode, invoice_id, number, stripe_intent_id, idempotency_key,
                    params, amount, currency, stripe_account, state, ended_at)
            SELECT i.account_id, i.livemode, i.id, %(number)s, %(intent_id)s, %(key)s, %(params)s,
                   %(amount)s, %(currency)s, c.stripe_account, %(state)s, anchorhold.now()
              FROM anchorhold.invoice i
              JOIN anchorhold.connection c USING (account_id, livemode)
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s
            ON CONFLICT DO NOTHING
            RETURNING account_id, livemode, invoice_id, number, stripe_intent_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'intent.recovered',
                   jsonb_build_object('number', number, 'stripe_intent_id', stripe_intent_id,
                                      'state', %(state)s::text)
              FROM made
        )
        SELECT stripe_intent_id FROM made
        """,
        str,
        **lost.params(scope),
        state=state,
        actor=actor,
    )


async def follow(db: Db, scope: Scope, standing: Standing, *, rule: str, actor: str) -> str | None:
    """The open invoice follows the intent, and the counter moved; None when something moved."""
    return await db.one(
        """
        WITH followed AS (
            UPDATE anchorhold.invoice
               SET payment_status = 'processing', followed_intent_id = %(intent_id)s,
                   followed_at = anchorhold.now(), charge_seq = charge_seq + 1
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(invoice_id)s AND status = 'open' AND hold_until IS NULL
               AND payment_status IN ('pending', 'failed') AND followed_intent_id IS NULL
               AND charge_seq = %(seq)s
            RETURNING account_id, livemode, id
        ), told AS (
            INSERT INTO anchorhold.journal
                   (account_id, livemode, invoice_id, actor, what, rule, detail)
            SELECT account_id, livemode, id, %(actor)s, 'following.began', %(rule)s,
                   jsonb_build_object('stripe_intent_id', %(intent_id)s::text)
              FROM followed
        )
        SELECT id FROM followed
        """,
        str,
        **scope.params,
        invoice_id=standing.invoice_id,
        intent_id=standing.intent_id,
        seq=standing.seq,
        rule=rule,
        actor=actor,
    )


async def report(db: Db, scope: Scope, intent: IntentView) -> str | None:
    """A person is told of money for an invoice that is not here, once; None: told before."""
    return await db.one(
        """
        INSERT INTO anchorhold.notice
               (account_id, livemode, id, code, invoice_id, subject, evidence)
        VALUES (%(account_id)s, %(livemode)s, %(notice_id)s, 'payment.invoice_lost', NULL,
                %(intent_id)s, %(evidence)s)
        ON CONFLICT DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        notice_id=only(db.new_ids(NOTICE, 1)),
        intent_id=intent.id,
        evidence=Jsonb(
            {
                "stripe_intent_id": intent.id,
                "lost_invoice_id": invoice_of(intent),
                "stripe_customer_id": intent.customer,
                "status": intent.status,
                "amount": intent.amount_received or intent.amount,
                "currency": intent.currency,
                "charge_id": intent.latest_charge_id,
            }
        ),
    )

"""Attempts that were presumed to have done nothing (protocol section 6, Audit)."""

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.presumed import Presumed
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


async def of_invoice(db: Db, scope: Scope, invoice_id: InvoiceId) -> list[Presumed]:
    """The invoice's attempts in `presumed_none`, oldest first; hardly ever any."""
    return await db.all(
        """
        SELECT a.id AS attempt_id, a.seq, a.stripe_account, a.stripe_customer_id, a.claimed_at,
               ARRAY(SELECT p.stripe_intent_id FROM anchorhold.payment p
                      WHERE p.account_id = a.account_id AND p.livemode = a.livemode
                        AND p.invoice_id = a.invoice_id
                        AND p.stripe_intent_id IS NOT NULL) AS known_intents,
               anchorhold.now() AS now
          FROM anchorhold.attempt a
         WHERE a.account_id = %(account_id)s AND a.livemode = %(livemode)s
           AND a.invoice_id = %(invoice_id)s AND a.state = 'presumed_none'
         ORDER BY a.id
        """,
        Presumed,
        **scope.params,
        invoice_id=invoice_id,
    )

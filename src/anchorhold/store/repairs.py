"""Repair on read: whose look at one invoice may ask Stripe now (protocol section 7)."""

from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db


async def take(db: Db, scope: Scope, timing: Timing, invoice_id: InvoiceId) -> InvoiceId | None:
    """The check of this stale hold is the reader's; None: nothing is stale, or another has it.

    At most once a minute, whoever looks; a hold of a direct charge not before its time.
    """
    found = await db.one(
        """
        UPDATE anchorhold.invoice i
           SET check_until = anchorhold.now() + make_interval(secs => %(lease_s)s),
               checked_at = anchorhold.now()
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s
           AND i.hold_until <= anchorhold.now()
                             - CASE WHEN i.intent_id IS NULL
                                    THEN make_interval(secs => %(wait_s)s)
                                    ELSE interval '0' END
           AND (i.check_until IS NULL OR i.check_until < anchorhold.now())
           AND (i.checked_at IS NULL OR i.checked_at < anchorhold.now() - interval '60 seconds')
        RETURNING i.id
        """,
        str,
        **scope.params,
        invoice_id=invoice_id,
        lease_s=timing.check_lease_seconds,
        wait_s=timing.sweep_wait_seconds,
    )
    return InvoiceId(found) if found else None

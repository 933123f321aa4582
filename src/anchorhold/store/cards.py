"""How often a payment method was declined, over all invoices (protocol section 10)."""

from dataclasses import dataclass

from anchorhold.domain.dunning import CARD_TRIES_MAX, CARD_WINDOW
from anchorhold.domain.hold import Token
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Declines:
    """Of one payment method within the window, up to the limit."""

    known: int
    under_way: int
    """Charges of it that were claimed before and may yet be declined."""


async def declines(db: Db, token: Token) -> Declines:
    """What is known of this attempt's payment method, and what is not known yet.

    Both together hold a batch of invoices on one dead card at the limit, and not a batch behind it.
    """
    found = await db.one(
        """
        SELECT declined.n::int AS known, under_way.n::int AS under_way
          FROM anchorhold.attempt own
         CROSS JOIN LATERAL (
               SELECT count(*) AS n
                 FROM (SELECT FROM anchorhold.attempt d
                        WHERE d.account_id = own.account_id AND d.livemode = own.livemode
                          AND d.payment_method = own.payment_method AND d.state = 'failed'
                          AND d.ended_at > anchorhold.now() - %(card_window)s::interval
                        LIMIT %(card_max)s) d) declined
         CROSS JOIN LATERAL (
               SELECT count(*) AS n
                 FROM anchorhold.invoice i
                 JOIN anchorhold.attempt u
                   ON u.account_id = i.account_id AND u.livemode = i.livemode
                  AND u.id = i.hold_attempt
                WHERE i.account_id = own.account_id AND i.livemode = own.livemode
                  AND i.hold_until IS NOT NULL AND u.payment_method = own.payment_method
                  AND u.id < own.id) under_way
         WHERE own.account_id = %(account_id)s AND own.livemode = %(livemode)s
           AND own.id = %(attempt_id)s
        """,
        Declines,
        **token.scope.params,
        attempt_id=token.attempt_id,
        card_max=CARD_TRIES_MAX,
        card_window=CARD_WINDOW,
    )
    return found or Declines(0, 0)

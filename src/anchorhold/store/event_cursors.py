"""Up to when an account's events at Stripe were read (protocol section 9, catch-up)."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.news import WATCH_DAYS
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Cursor:
    """All events that Stripe had made by `read_to` are rows of ours.

    `began`: this is the first look, which goes back 30 days. `lost`: longer ago than Stripe lists;
    for one that never came further than its beginning, that beginning is longer ago.
    """

    read_to: datetime
    now: datetime
    began: bool
    lost: bool


_BEGIN = """
WITH begun AS (
    INSERT INTO anchorhold.event_cursor (account_id, livemode, stripe_account, read_to)
    SELECT k.account_id, k.livemode, k.stripe_account,
           anchorhold.now() - make_interval(days => %(days)s)
      FROM anchorhold.connection k
     WHERE k.account_id = %(account_id)s AND k.livemode = %(livemode)s
       AND k.stripe_account = %(stripe_account)s
    ON CONFLICT DO NOTHING
    RETURNING read_to
), found AS (
    SELECT read_to, true AS began, 1 AS times FROM begun
    UNION ALL
    SELECT c.read_to, false, CASE WHEN c.read_at IS NULL THEN 2 ELSE 1 END
      FROM anchorhold.event_cursor c
     WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
       AND c.stripe_account = %(stripe_account)s
)
SELECT greatest(read_to, n.now - make_interval(days => %(days)s)) AS read_to, n.now, began,
       NOT began AND read_to < n.now - make_interval(days => %(days)s * times) AS lost
  FROM found, (SELECT anchorhold.now() AS now) n
 LIMIT 1
"""


async def begin(db: Db, scope: Scope, stripe_account: str) -> Cursor | None:
    """Where reading goes on, 30 days back at the first time.

    None when another account is connected, or while another reader begins this very moment.
    """
    return await db.one(
        _BEGIN, Cursor, **scope.params, stripe_account=stripe_account, days=WATCH_DAYS
    )


async def advance(
    db: Db, scope: Scope, stripe_account: str, *, read_to: datetime
) -> datetime | None:
    """Everything until `read_to` is committed here; None when another reader was further."""
    return await db.one(
        """
        UPDATE anchorhold.event_cursor
           SET read_to = %(read_to)s, read_at = anchorhold.now()
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND stripe_account = %(stripe_account)s AND read_to < %(read_to)s
        RETURNING read_to
        """,
        datetime,
        **scope.params,
        stripe_account=stripe_account,
        read_to=read_to,
    )


async def gap(db: Db, scope: Scope, stripe_account: str, *, notice_id: str) -> str | None:
    """A person is told that events were missed, once for each gap; None when it is told already."""
    return await db.one(
        """
        INSERT INTO anchorhold.notice (account_id, livemode, id, code, subject, evidence)
        SELECT c.account_id, c.livemode, %(notice_id)s, 'events.gap', c.read_to::text,
               jsonb_build_object('stripe_account', c.stripe_account, 'from', c.read_to,
                                  'to', anchorhold.now() - make_interval(days => %(days)s))
          FROM anchorhold.event_cursor c
         WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
           AND c.stripe_account = %(stripe_account)s
           AND c.read_to < anchorhold.now() - make_interval(
               days => %(days)s * CASE WHEN c.read_at IS NULL THEN 2 ELSE 1 END)
        ON CONFLICT DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        stripe_account=stripe_account,
        notice_id=notice_id,
        days=WATCH_DAYS,
    )

"""What the alarms read: a few counts over the whole database, each by a small partial index.

About all accounts at once: an alarm says that somebody has to look, the lists say at what.
"""

from dataclasses import dataclass

from anchorhold.domain.timing import Timing
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Holds:
    """Holds by lane. Ages are seconds since the end of the oldest one, 0 when there is none.

    `overdue` are older than HOLD_ALARM; parks are counted apart, by what became of their invoice,
    and only those older than PARKED_ALARM (protocol section 6).
    """

    live: int
    confirming: int
    parked: int
    overdue: int
    overdue_parks_open: int
    overdue_parks_written_off: int
    oldest_confirming_s: float
    oldest_parked_s: float


NO_HOLDS = Holds(0, 0, 0, 0, 0, 0, 0.0, 0.0)


async def holds(db: Db, timing: Timing) -> Holds:
    """All holds there are."""
    found = await db.one(
        """
        SELECT count(*) FILTER (WHERE h.age <= interval '0') AS live,
               count(*) FILTER (WHERE h.stale AND NOT h.parked) AS confirming,
               count(*) FILTER (WHERE h.stale AND h.parked) AS parked,
               count(*) FILTER (WHERE h.stale AND NOT h.parked AND h.age
                                > make_interval(secs => %(hold_alarm_s)s)) AS overdue,
               count(*) FILTER (WHERE h.stale AND h.parked AND h.status = 'open' AND h.age
                                > make_interval(secs => %(parked_alarm_s)s))
                   AS overdue_parks_open,
               count(*) FILTER (WHERE h.stale AND h.parked AND h.status <> 'open' AND h.age
                                > make_interval(secs => %(parked_alarm_s)s))
                   AS overdue_parks_written_off,
               coalesce(extract(epoch FROM max(h.age) FILTER (WHERE h.stale AND NOT h.parked)),
                        0)::float8 AS oldest_confirming_s,
               coalesce(extract(epoch FROM max(h.age) FILTER (WHERE h.stale AND h.parked)),
                        0)::float8 AS oldest_parked_s
          FROM (SELECT i.status, clock.now - i.hold_until AS age,
                       i.hold_until < clock.now AS stale,
                       i.payment_status = 'unknown' AND i.intent_id IS NULL
                           AND i.followed_intent_id IS NULL AS parked
                  FROM anchorhold.invoice i
                 CROSS JOIN (SELECT anchorhold.now() AS now) clock
                 WHERE i.hold_until IS NOT NULL) h
        """,
        Holds,
        hold_alarm_s=timing.hold_alarm_seconds,
        parked_alarm_s=timing.parked_alarm_seconds,
    )
    return found or NO_HOLDS


async def parks_without_hold(db: Db) -> int:
    """Unclear invoices that nobody would look at; a constraint forbids them (H2)."""
    found = await db.one(
        """
        SELECT count(*) FROM anchorhold.invoice i
         WHERE i.payment_status = 'unknown' AND i.hold_until IS NULL
           AND i.followed_intent_id IS NULL
        """,
        int,
    )
    return found or 0


async def followed(db: Db) -> int:
    """Invoices that follow a PaymentIntent."""
    found = await db.one(
        "SELECT count(*) FROM anchorhold.invoice i WHERE i.followed_intent_id IS NOT NULL", int
    )
    return found or 0


@dataclass(frozen=True, slots=True)
class Notices:
    """How many facts of one kind wait for a person."""

    code: str
    waiting: int


async def open_notices(db: Db) -> list[Notices]:
    """What waits for a person, by code."""
    return await db.all(
        """
        SELECT n.code, count(*) AS waiting FROM anchorhold.notice n
         WHERE n.resolved_at IS NULL GROUP BY n.code ORDER BY n.code
        """,
        Notices,
    )


@dataclass(frozen=True, slots=True)
class Connections:
    """Accounts and modes: connected, refused by Stripe, and waiting for a recovery to end."""

    connected: int
    flagged: int
    recovering: int


async def connections(db: Db) -> Connections:
    """How the accounts and modes stand."""
    found = await db.one(
        """
        SELECT count(*) AS connected,
               count(*) FILTER (WHERE c.refused_at IS NOT NULL) AS flagged,
               (SELECT count(*) FROM anchorhold.recovery r WHERE r.ended_at IS NULL) AS recovering
          FROM anchorhold.connection c
        """,
        Connections,
    )
    return found or Connections(0, 0, 0)


async def jobs_waiting(db: Db) -> int:
    """Jobs that nobody has begun though their time has come."""
    found = await db.one(
        """
        SELECT count(*) FROM anchorhold.procrastinate_jobs j
         WHERE j.status = 'todo'
           AND (j.scheduled_at IS NULL OR j.scheduled_at <= (SELECT anchorhold.now()))
        """,
        int,
    )
    return found or 0


@dataclass(frozen=True, slots=True)
class Readings:
    """All of it, read within a moment."""

    holds: Holds
    parks_without_hold: int
    followed: int
    notices: tuple[Notices, ...]
    connections: Connections
    jobs_waiting: int


async def read(db: Db, timing: Timing) -> Readings:
    """Everything that the alarms need; each part is a statement of its own."""
    return Readings(
        holds=await holds(db, timing),
        parks_without_hold=await parks_without_hold(db),
        followed=await followed(db),
        notices=tuple(await open_notices(db)),
        connections=await connections(db),
        jobs_waiting=await jobs_waiting(db),
    )

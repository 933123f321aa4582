"""Whether a mode's rows are whole, and what makes them whole again (protocol section 11).

`connection.lineage` names the database in which they are known to be whole. Every statement that
takes a hold or an intent to prepare compares it with `anchorhold.lineage()`, which a fail-over and
a restore change: so nothing is begun before `finish`, whatever a process has noticed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from anchorhold.domain.ids import RECOVERY, InvoiceId
from anchorhold.domain.recovering import Phase, Run, Standing
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db, only

BEAT_S = 60.0
SILENCE_S = 300.0
"""A start after so long without a commit of a worker may be one on an older copy of the data."""
LEASE_S = 60.0
"""So long a mode stays closed when whoever led its recovery was killed."""


@dataclass(frozen=True, slots=True)
class Look:
    """Whether claims may be made. `lineage` is the database's, `-` for what it does not tell."""

    whole: bool
    lineage: str
    seen_at: datetime
    began_at: datetime | None
    """Since when a recovery is due, once one began."""
    failure: str | None


async def look(db: Db, scope: Scope) -> Look | None:
    """How a mode stands, and a commit of this minute is on record while it is whole."""
    return await db.one(
        """
        WITH here AS MATERIALIZED (
            SELECT anchorhold.lineage() AS lineage
        ), beat AS (
            UPDATE anchorhold.connection c
               SET seen_at = anchorhold.now()
              FROM here
             WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
               AND c.lineage = here.lineage
               AND c.seen_at < anchorhold.now() - make_interval(secs => %(beat_s)s)
        )
        SELECT c.lineage = here.lineage AS whole, here.lineage, c.seen_at, r.began_at, r.failure
          FROM anchorhold.connection c
         CROSS JOIN here
          LEFT JOIN anchorhold.recovery r
            ON r.account_id = c.account_id AND r.livemode = c.livemode AND r.ended_at IS NULL
         WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
        """,
        Look,
        **scope.params,
        beat_s=BEAT_S,
    )


async def doubt(db: Db, scope: Scope, *, silence_s: float = SILENCE_S) -> str | None:
    """The mode is to be recovered if no commit was seen for so long; None: it stays as it is.

    A copy of the files that is started has cluster, timeline and database of the original: only
    its last commit shows that it is old.
    """
    return await db.one(
        """
        UPDATE anchorhold.connection
           SET lineage = 'doubted'
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND lineage = anchorhold.lineage()
           AND seen_at <= anchorhold.now() - make_interval(secs => %(silence_s)s)
        RETURNING lineage
        """,
        str,
        **scope.params,
        silence_s=silence_s,
    )


# Locks the connection first, as `finish` does. One that waited for it finds the other's row by the
# unique index, and gets nothing.
_BEGIN = """
WITH due AS MATERIALIZED (
    SELECT c.account_id, c.livemode, anchorhold.lineage() AS lineage, a.charge_mode,
           least(%(since)s::timestamptz,
                 c.seen_at - make_interval(secs => %(back_s)s)) AS since
      FROM anchorhold.connection c
      JOIN anchorhold.account a ON a.id = c.account_id
     WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
       AND c.lineage <> anchorhold.lineage()
       FOR NO KEY UPDATE OF c
), open AS (
    SELECT r.account_id, r.livemode, r.id, d.lineage, least(r.since, d.since) AS since,
           r.lineage = d.lineage AND r.since <= d.since AS goes_on
      FROM anchorhold.recovery r
      JOIN due d USING (account_id, livemode)
     WHERE r.ended_at IS NULL
), taken AS (
    UPDATE anchorhold.recovery r
       SET lease_until = anchorhold.now() + make_interval(secs => %(lease_s)s),
           actor = %(actor)s, failure = NULL, since = o.since, lineage = o.lineage,
           began_at = CASE WHEN r.lineage = o.lineage THEN r.began_at
                           ELSE anchorhold.now() END,
           phase = CASE WHEN o.goes_on THEN r.phase ELSE 'created' END,
           after = CASE WHEN o.goes_on THEN r.after END,
           counts = CASE WHEN o.goes_on THEN r.counts ELSE '{}' END
      FROM open o
     WHERE r.account_id = o.account_id AND r.livemode = o.livemode AND r.id = o.id
       AND r.ended_at IS NULL AND r.lease_until <= anchorhold.now()
    RETURNING r.*
), begun AS (
    INSERT INTO anchorhold.recovery
           (account_id, livemode, id, lineage, since, actor, lease_until)
    SELECT account_id, livemode, %(id)s, lineage, since, %(actor)s,
           anchorhold.now() + make_interval(secs => %(lease_s)s)
      FROM due
     WHERE NOT EXISTS (SELECT FROM open)
    ON CONFLICT DO NOTHING
    RETURNING *
)
SELECT run.id, run.since, run.lease_until, run.phase, run.after, run.counts,
       due.charge_mode = 'direct' AND run.began_at
           > anchorhold.now() - make_interval(secs => %(in_flight_s)s) AS too_early
  FROM (SELECT * FROM taken UNION ALL SELECT * FROM begun) run
 CROSS JOIN due
"""


async def begin(
    db: Db,
    scope: Scope,
    *,
    back_s: float,
    in_flight_s: float,
    actor: str,
    since: datetime | None = None,
    lease_s: float = LEASE_S,
) -> Run | None:
    """The caller leads the mode's recovery for a minute; None: not due, or another leads it.

    One that was left by its leader goes on where it stopped; after another fail-over, or from an
    earlier `since`, it begins again. Reads from the last commit that is surely here, less `back_s`.
    """
    return await db.one(
        _BEGIN,
        Run,
        **scope.params,
        id=only(db.new_ids(RECOVERY, 1)),
        since=since,
        back_s=back_s,
        in_flight_s=in_flight_s,
        actor=actor,
        lease_s=lease_s,
    )


async def advance(
    db: Db,
    scope: Scope,
    run: Run,
    *,
    phase: Phase,
    after: str | None,
    counts: dict[str, int],
    lease_s: float = LEASE_S,
) -> datetime | None:
    """How far the recovery is, and until when it is the caller's; None: another leads it now."""
    return await db.one(
        """
        UPDATE anchorhold.recovery
           SET phase = %(phase)s, after = %(after)s, counts = %(counts)s,
               lease_until = greatest(
                   anchorhold.now() + make_interval(secs => %(lease_s)s),
                   lease_until + interval '1 microsecond')
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(id)s
           AND ended_at IS NULL AND lease_until = %(lease_until)s
        RETURNING lease_until
        """,
        datetime,
        **scope.params,
        id=run.id,
        lease_until=run.lease_until,
        phase=phase,
        after=after,
        counts=Jsonb(counts),
        lease_s=lease_s,
    )


async def give_up(
    db: Db, scope: Scope, run: Run, *, failure: str, from_the_start: bool = False
) -> str | None:
    """Anybody may go on with it at once; the mode stays closed to claims. None: another leads."""
    return await db.one(
        """
        UPDATE anchorhold.recovery
           SET lease_until = anchorhold.now(), failure = %(failure)s,
               phase = CASE WHEN %(from_the_start)s THEN 'created' ELSE phase END,
               after = CASE WHEN %(from_the_start)s THEN NULL ELSE after END
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(id)s
           AND ended_at IS NULL AND lease_until = %(lease_until)s
        RETURNING id
        """,
        str,
        **scope.params,
        id=run.id,
        lease_until=run.lease_until,
        failure=failure,
        from_the_start=from_the_start,
    )


async def finish(db: Db, scope: Scope, run: Run) -> str | None:
    """The mode is whole and claims may be made; the lineage that it has now.

    None: another leads it, or the database failed over once more and it has to begin again.
    """
    return await db.one(
        """
        WITH mode AS MATERIALIZED (
            SELECT c.account_id, c.livemode, anchorhold.lineage() AS lineage
              FROM anchorhold.connection c
             WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
               FOR NO KEY UPDATE OF c
        ), ended AS (
            UPDATE anchorhold.recovery r
               SET phase = 'done', ended_at = anchorhold.now()
              FROM mode m
             WHERE r.account_id = m.account_id AND r.livemode = m.livemode AND r.id = %(id)s
               AND r.ended_at IS NULL AND r.lease_until = %(lease_until)s
               AND r.lineage = m.lineage
            RETURNING r.account_id, r.livemode, r.lineage
        )
        UPDATE anchorhold.connection c
           SET lineage = e.lineage, seen_at = anchorhold.now()
          FROM ended e
         WHERE c.account_id = e.account_id AND c.livemode = e.livemode
        RETURNING c.lineage
        """,
        str,
        **scope.params,
        id=run.id,
        lease_until=run.lease_until,
    )


async def look_up(db: Db, scope: Scope, found: Sequence[tuple[str, InvoiceId]]) -> list[Standing]:
    """What the rows say about each intent and the invoice that it names, in any order."""
    return await db.all(
        """
        SELECT f.intent_id, f.invoice_id, i.id IS NOT NULL AS known,
               coalesce(i.status = 'open', false) AS open, coalesce(i.charge_seq, 0) AS seq,
               coalesce(i.amount_due - i.amount_paid, 0) AS amount,
               coalesce(i.currency, '') AS currency,
               coalesce(i.hold_until IS NOT NULL, false) AS held,
               i.id IS NOT NULL AND i.hold_until IS NULL AND i.intent_id IS NULL
                   AND i.followed_intent_id IS NULL AS free,
               coalesce(i.intent_id = f.intent_id, false) AS own,
               coalesce(i.followed_intent_id = f.intent_id, false) AS followed,
               EXISTS (SELECT FROM anchorhold.payment p
                        WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
                          AND p.stripe_intent_id = f.intent_id) AS paid,
               EXISTS (SELECT FROM anchorhold.intent t
                        WHERE t.account_id = %(account_id)s AND t.livemode = %(livemode)s
                          AND t.stripe_intent_id = f.intent_id) AS named,
               (SELECT t.number FROM anchorhold.intent t
                 WHERE t.account_id = %(account_id)s AND t.livemode = %(livemode)s
                   AND t.invoice_id = f.invoice_id AND t.state = 'preparing') AS preparing
          FROM unnest(%(intent_ids)s::text[], %(invoice_ids)s::text[]) AS f (intent_id, invoice_id)
          LEFT JOIN anchorhold.invoice i
            ON i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = f.invoice_id
        """,
        Standing,
        **scope.params,
        intent_ids=[intent for intent, _ in found],
        invoice_ids=[invoice for _, invoice in found],
    )


async def oldest_live(db: Db, scope: Scope) -> datetime | None:
    """When the oldest invoice with a live intent came in: its intents cannot be older.

    Ids of invoices sort by time, so the index over live intents has it first.
    """
    return await db.one(
        """
        SELECT i.created_at
          FROM (SELECT t.account_id, t.livemode, t.invoice_id
                  FROM anchorhold.intent t
                 WHERE t.account_id = %(account_id)s AND t.livemode = %(livemode)s
                   AND t.state IN ('preparing', 'live')
                 ORDER BY t.invoice_id
                 LIMIT 1) oldest
          JOIN anchorhold.invoice i
            ON i.account_id = oldest.account_id AND i.livemode = oldest.livemode
           AND i.id = oldest.invoice_id
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
        """,
        datetime,
        **scope.params,
    )

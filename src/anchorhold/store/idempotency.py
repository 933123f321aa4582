"""POSTs by their Idempotency-Key: one at a time, one answer, kept for thirty days."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import RequestId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db

PRUNED_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Turn:
    """Whoever has it acts. `request_id` is the first request's: what was done is found by it."""

    scope: Scope
    idempotency_key: str
    request_id: RequestId
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class _Begun:
    request_id: RequestId
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """A request of this key as it stands; `body` is encrypted, None while it is worked on."""

    digest: bytes
    request_id: RequestId
    status: int | None
    body: bytes | None


async def begin(
    db: Db,
    scope: Scope,
    idempotency_key: str,
    *,
    digest: bytes,
    request_id: RequestId,
    lease_s: float,
) -> Turn | None:
    """It is the caller's turn; None: it is answered, is another request, or another's turn.

    A turn whose lease ended without an answer is taken over: its process died, and what it did
    is found by the first request's id.
    """
    row = await db.one(
        """
        INSERT INTO anchorhold.idempotent_request AS r
               (account_id, livemode, idempotency_key, digest, request_id, lease_until)
        VALUES (%(account_id)s, %(livemode)s, %(idempotency_key)s, %(digest)s, %(request_id)s,
                anchorhold.now() + make_interval(secs => %(lease_s)s))
        ON CONFLICT (account_id, livemode, idempotency_key) DO UPDATE
           SET lease_until = excluded.lease_until
         WHERE r.status IS NULL AND r.lease_until <= anchorhold.now()
           AND r.digest = excluded.digest
        RETURNING request_id, lease_until
        """,
        _Begun,
        **scope.params,
        idempotency_key=idempotency_key,
        digest=digest,
        request_id=request_id,
        lease_s=lease_s,
    )
    return Turn(scope, idempotency_key, row.request_id, row.lease_until) if row else None


async def kept(db: Db, scope: Scope, idempotency_key: str) -> Kept | None:
    """The request that came with this key, or None."""
    return await db.one(
        """
        SELECT digest, request_id, status, body
          FROM anchorhold.idempotent_request
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND idempotency_key = %(idempotency_key)s
        """,
        Kept,
        **scope.params,
        idempotency_key=idempotency_key,
    )


async def finish(db: Db, turn: Turn, *, status: int, body: bytes) -> int | None:
    """The request has this answer from now on; None: its turn is another's by now."""
    return await db.one(
        """
        UPDATE anchorhold.idempotent_request
           SET status = %(status)s, body = %(body)s
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND idempotency_key = %(idempotency_key)s AND status IS NULL
           AND lease_until = %(lease_until)s
        RETURNING status
        """,
        int,
        **turn.scope.params,
        idempotency_key=turn.idempotency_key,
        lease_until=turn.lease_until,
        status=status,
        body=body,
    )


async def forget(db: Db, turn: Turn) -> str | None:
    """Nothing was done, and the key is as if it was never sent; None: its turn is another's."""
    return await db.one(
        """
        DELETE FROM anchorhold.idempotent_request
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND idempotency_key = %(idempotency_key)s AND status IS NULL
           AND lease_until = %(lease_until)s
        RETURNING idempotency_key
        """,
        str,
        **turn.scope.params,
        idempotency_key=turn.idempotency_key,
        lease_until=turn.lease_until,
    )


async def prune(db: Db, scope: Scope, *, keep_days: int) -> int:
    """Requests older than that are forgotten, a bounded number at one go; how many."""
    gone = await db.one(
        """
        WITH old AS (
            SELECT account_id, livemode, idempotency_key
              FROM anchorhold.idempotent_request
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND created_at < anchorhold.now() - make_interval(days => %(keep_days)s)
             ORDER BY created_at
             LIMIT %(limit)s
               FOR UPDATE
        ), gone AS (
            DELETE FROM anchorhold.idempotent_request r
             USING old
             WHERE r.account_id = old.account_id AND r.livemode = old.livemode
               AND r.idempotency_key = old.idempotency_key
            RETURNING 1
        )
        SELECT count(*) FROM gone
        """,
        int,
        **scope.params,
        keep_days=keep_days,
        limit=PRUNED_AT_ONCE,
    )
    return gone or 0

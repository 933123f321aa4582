"""Webhook endpoints: where an account wants to hear of what happened, and under which secret."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import EndpointId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint as people see it; no secret in it. No `types`: it hears of everything."""

    id: EndpointId
    url: str
    types: tuple[str, ...]
    description: str
    disabled_at: datetime | None
    disabled_reason: str | None
    old_secret_until: datetime | None
    created_at: datetime


async def add(
    db: Db,
    scope: Scope,
    endpoint_id: EndpointId,
    *,
    url: str,
    types: tuple[str, ...],
    description: str,
    secret: bytes,
) -> Endpoint | None:
    """The endpoint hears of what happens from now on; None when its URL has one already."""
    return await db.one(
        """
        INSERT INTO anchorhold.webhook_endpoint
               (account_id, livemode, id, url, types, description, secret, after_entry)
        VALUES (%(account_id)s, %(livemode)s, %(endpoint_id)s, %(url)s, %(types)s,
                %(description)s, %(secret)s,
                coalesce(pg_sequence_last_value('anchorhold.journal_entry_seq'), 0))
        ON CONFLICT DO NOTHING
        RETURNING id, url, types, description, disabled_at, disabled_reason, old_secret_until,
                  created_at
        """,
        Endpoint,
        **scope.params,
        endpoint_id=endpoint_id,
        url=url,
        types=list(types),
        description=description,
        secret=secret,
    )


async def all_of(db: Db, scope: Scope) -> list[Endpoint]:
    """Every endpoint of the account and mode, oldest first."""
    return await db.all(
        """
        SELECT id, url, types, description, disabled_at, disabled_reason, old_secret_until,
               created_at
          FROM anchorhold.webhook_endpoint
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND deleted_at IS NULL
         ORDER BY id
        """,
        Endpoint,
        **scope.params,
    )


async def rotate(
    db: Db, scope: Scope, endpoint_id: EndpointId, *, secret: bytes, overlap_s: float
) -> datetime | None:
    """A new secret signs from now on, the one before it beside it until the time returned.

    None: no such endpoint, or its last change is still overlapping: two changes at once would
    make one secret unknown to whoever verifies.
    """
    return await db.one(
        """
        UPDATE anchorhold.webhook_endpoint
           SET old_secret = secret, secret = %(secret)s,
               old_secret_until = anchorhold.now() + make_interval(secs => %(overlap_s)s)
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND id = %(endpoint_id)s AND deleted_at IS NULL
           AND (old_secret_until IS NULL OR old_secret_until <= anchorhold.now())
        RETURNING old_secret_until
        """,
        datetime,
        **scope.params,
        endpoint_id=endpoint_id,
        secret=secret,
        overlap_s=overlap_s,
    )


async def switch_on(db: Db, scope: Scope, endpoint_id: EndpointId) -> str | None:
    """The endpoint hears of what happens again; None when it was on, or is not there."""
    return await db.one(
        """
        UPDATE anchorhold.webhook_endpoint
           SET disabled_at = NULL, disabled_reason = NULL
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND id = %(endpoint_id)s AND deleted_at IS NULL AND disabled_at IS NOT NULL
        RETURNING id
        """,
        str,
        **scope.params,
        endpoint_id=endpoint_id,
    )


async def remove(db: Db, scope: Scope, endpoint_id: EndpointId) -> str | None:
    """The endpoint hears of nothing more; what waited for it is dropped. None: not there."""
    return await db.one(
        """
        WITH removed AS (
            UPDATE anchorhold.webhook_endpoint
               SET deleted_at = anchorhold.now()
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(endpoint_id)s AND deleted_at IS NULL
            RETURNING account_id, livemode, id
        ), dropped AS (
            UPDATE anchorhold.webhook_delivery d
               SET state = 'dropped', ended_at = anchorhold.now()
              FROM removed r
             WHERE d.account_id = r.account_id AND d.livemode = r.livemode
               AND d.endpoint_id = r.id AND d.state = 'waiting'
        )
        SELECT id FROM removed
        """,
        str,
        **scope.params,
        endpoint_id=endpoint_id,
    )

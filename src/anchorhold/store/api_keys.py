"""Keys of the API: made, found by their beginning, stamped when used, ended."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from anchorhold.domain.api_key import KeyKind, NewKey
from anchorhold.domain.ids import AccountId, KeyId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db

USED_S: Final = 60
"""Last use is stamped so often at most: one write a minute, not one a request."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key as people see it; nothing in it opens anything."""

    id: KeyId
    account_id: AccountId
    livemode: bool
    kind: KeyKind
    name: str
    last4: str
    grants: tuple[str, ...]
    version: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Found:
    """A key that begins so. `ended`: revoked or expired; `unstamped`: its use is to be noted."""

    id: KeyId
    account_id: AccountId
    livemode: bool
    kind: KeyKind
    digest: bytes
    grants: tuple[str, ...]
    version: str
    ended: bool
    unstamped: bool


async def add(
    db: Db,
    scope: Scope,
    key_id: KeyId,
    new: NewKey,
    *,
    kind: KeyKind,
    name: str,
    grants: tuple[str, ...],
    version: str,
) -> KeyRow | None:
    """The key opens the account and mode from now on; None: another one begins like it."""
    return await db.one(
        """
        INSERT INTO anchorhold.api_key
               (account_id, livemode, id, kind, name, prefix, last4, digest, grants, version)
        VALUES (%(account_id)s, %(livemode)s, %(key_id)s, %(kind)s, %(name)s, %(prefix)s,
                %(last4)s, %(digest)s, %(grants)s, %(version)s)
        ON CONFLICT DO NOTHING
        RETURNING id, account_id, livemode, kind, name, last4, grants, version, created_at,
                  expires_at, revoked_at, last_used_at
        """,
        KeyRow,
        **scope.params,
        key_id=key_id,
        kind=kind,
        name=name,
        prefix=new.prefix,
        last4=new.last4,
        digest=new.digest,
        grants=list(grants),
        version=version,
    )


async def find(db: Db, prefix: str) -> Found | None:
    """The key that begins so, of any account: the caller compares its digest."""
    return await db.one(
        """
        SELECT id, account_id, livemode, kind, digest, grants, version,
               revoked_at IS NOT NULL OR coalesce(expires_at <= clock.now, false) AS ended,
               coalesce(last_used_at < clock.now - make_interval(secs => %(used_s)s), true)
                   AS unstamped
          FROM anchorhold.api_key
         CROSS JOIN (SELECT anchorhold.now() AS now) clock
         WHERE prefix = %(prefix)s
        """,
        Found,
        prefix=prefix,
        used_s=USED_S,
    )


async def used(db: Db, scope: Scope, key_id: KeyId) -> KeyId | None:
    """The key was used now; None: somebody noted that within the last minute."""
    row = await db.one(
        """
        UPDATE anchorhold.api_key
           SET last_used_at = anchorhold.now()
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(key_id)s
           AND (last_used_at IS NULL
                OR last_used_at < anchorhold.now() - make_interval(secs => %(used_s)s))
        RETURNING id
        """,
        str,
        **scope.params,
        key_id=key_id,
        used_s=USED_S,
    )
    return KeyId(row) if row else None


async def all_of(db: Db, scope: Scope) -> list[KeyRow]:
    """Every key of the account and mode, newest first, ended ones too."""
    return await db.all(
        """
        SELECT id, account_id, livemode, kind, name, last4, grants, version, created_at,
               expires_at, revoked_at, last_used_at
          FROM anchorhold.api_key
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
         ORDER BY id DESC
        """,
        KeyRow,
        **scope.params,
    )


async def revoke(db: Db, scope: Scope, key_id: KeyId) -> KeyId | None:
    """The key opens nothing any more; None: there is none, or it was revoked before."""
    row = await db.one(
        """
        UPDATE anchorhold.api_key
           SET revoked_at = anchorhold.now()
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(key_id)s
           AND revoked_at IS NULL
        RETURNING id
        """,
        str,
        **scope.params,
        key_id=key_id,
    )
    return KeyId(row) if row else None


async def expire(db: Db, scope: Scope, key_id: KeyId, *, after_s: float) -> datetime | None:
    """The key ends so many seconds from now; None: it has ended, or has an end already."""
    return await db.one(
        """
        UPDATE anchorhold.api_key
           SET expires_at = anchorhold.now() + make_interval(secs => %(after_s)s)
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(key_id)s
           AND revoked_at IS NULL AND expires_at IS NULL
        RETURNING expires_at
        """,
        datetime,
        **scope.params,
        key_id=key_id,
        after_s=after_s,
    )

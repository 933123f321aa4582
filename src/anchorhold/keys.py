"""Making and changing keys of the API, with random bytes and the newest version."""

from anchorhold.domain import api_key
from anchorhold.domain.api_key import SECRET_BYTES, VERSION, KeyKind
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.ids import KEY, KeyId
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.entropy import random_bytes
from anchorhold.store import api_keys
from anchorhold.store.api_keys import KeyRow
from anchorhold.store.db import Db

TRIES = 3
"""Two keys that begin alike are made once in 2^48; then another one is made."""


async def create(
    db: Db,
    scope: Scope,
    *,
    name: str,
    grants: tuple[str, ...] = (),
    version: str = VERSION,
) -> tuple[KeyRow, str]:
    """A new key of the account and mode, and its text, which nobody can be shown again.

    With grants it is a restricted one. Raises Refusal: grant_unknown.
    """
    rights = api_key.grants_of(grants)
    kind = KeyKind.RESTRICTED if rights else KeyKind.SECRET
    for _ in range(TRIES):
        new = api_key.spell(kind, random_bytes(SECRET_BYTES), livemode=scope.livemode)
        (id_,) = db.new_ids(KEY, 1)
        row = await api_keys.add(
            db, scope, id_, new, kind=kind, name=name, grants=rights, version=version
        )
        if row is not None:
            return row, new.text
    raise RuntimeError("three keys in a row begin like others")


async def rotate(db: Db, scope: Scope, key_id: KeyId, *, overlap_s: float) -> tuple[KeyRow, str]:
    """A key like this one, and its text; this one ends after the overlap.

    Raises Refusal: key_not_found, key_ended (it was revoked, has expired or is to end already).
    """
    old = await the_key(db, scope, key_id)
    if await api_keys.expire(db, scope, key_id, after_s=overlap_s) is None:
        raise Refusal(ApiCode.KEY_ENDED, id=key_id)
    return await create(db, scope, name=old.name, grants=old.grants, version=old.version)


async def revoke(db: Db, scope: Scope, key_id: KeyId) -> KeyRow:
    """The key opens nothing from now on. Raises Refusal: key_not_found, key_ended."""
    await the_key(db, scope, key_id)
    if await api_keys.revoke(db, scope, key_id) is None:
        raise Refusal(ApiCode.KEY_ENDED, id=key_id)
    return await the_key(db, scope, key_id)


async def the_key(db: Db, scope: Scope, key_id: KeyId) -> KeyRow:
    """The key of this id. Raises Refusal: key_not_found."""
    for row in await api_keys.all_of(db, scope):
        if row.id == key_id:
            return row
    raise Refusal(ApiCode.KEY_NOT_FOUND, id=key_id)

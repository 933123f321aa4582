"""TABLE: the reads and writes about keys of the API and repeated requests, as `writes.py` has."""

from datetime import UTC, datetime
from typing import Any

from anchorhold.domain import ids
from anchorhold.domain.api_key import VERSION, KeyKind, NewKey
from anchorhold.domain.ids import CustomerId, KeyId, RefundId, RequestId
from anchorhold.domain.scope import Scope
from anchorhold.store import (
    api_keys,
    customers,
    idempotency,
    views_attempts,
    views_refunds,
)
from anchorhold.store.db import Db
from anchorhold.store.idempotency import Turn
from tests.store.scene import OURS, Scene

ITSELF = "its own row tells it, with its time"
KEY = KeyId("key_" + "1".rjust(26, "0"))
REQUEST = RequestId("req_" + "1".rjust(26, "0"))
CUSTOMER = CustomerId("cus_" + "9".rjust(26, "0"))
AGAIN = "once"


async def add_key(db: Db, scope: Scope) -> Any:
    new = NewKey("sk_test_text", f"sk_{scope.account_id}_{scope.livemode}", "text", b"d" * 32)
    return await api_keys.add(
        db, scope, KEY, new, kind=KeyKind.SECRET, name="shop", grants=(), version=VERSION
    )


async def keyed(scene: Scene) -> KeyId:
    """A key that was never used."""
    assert await add_key(scene.db, scene.scope)
    return KEY


async def begin(db: Db, scope: Scope) -> Turn | None:
    return await idempotency.begin(
        db, scope, AGAIN, digest=b"d" * 32, request_id=REQUEST, lease_s=60
    )


async def begun(scene: Scene) -> Turn:
    """A request whose turn it is."""
    turn = await begin(scene.db, scene.scope)
    assert turn
    return turn


async def nothing(_: Scene) -> None:
    return None


async def old(scene: Scene) -> None:
    """A request of long ago."""
    await begun(scene)
    scene.sql("UPDATE anchorhold.idempotent_request SET created_at = now() - interval '40 days'")


def in_scope(turn: Turn, scope: Scope) -> Turn:
    return Turn(scope, turn.idempotency_key, turn.request_id, turn.lease_until)


async def everything(scene: Scene) -> None:
    """A key and a request."""
    await keyed(scene)
    await begun(scene)


async def create(db: Db, scope: Scope) -> Any:
    return await customers.create(
        db, scope, CUSTOMER, reference="new one", email=None, payment_method=None
    )


async def another(db: Db) -> Any:
    """A customer whom nobody knows yet."""
    id_ = db.new_ids(ids.CUSTOMER, 1)[0]
    return await customers.create(db, OURS, id_, reference=id_, email=None, payment_method=None)


async def _an_attempt(db: Db, scope: Scope) -> Any:
    rows = await views_attempts.page(db, OURS, state=None, invoice_id=None, after=None, limit=1)
    found = await views_attempts.one(db, scope, rows[0].id)
    return found.id if found else None


async def _a_refund(db: Db, scope: Scope) -> Any:
    ids = await db.all("SELECT id FROM anchorhold.refund WHERE account_id = 'acc_ours'", str)
    found = await views_refunds.one(db, scope, RefundId(ids[0])) if ids else None
    return found.id if found else None


# fmt: off
WRITES: tuple[dict[str, Any], ...] = (
    {"function": "api_keys.add", "arrange": nothing, "untold": ITSELF, "scoped": False,
     "run": lambda db, scope, scene, _: add_key(db, scope)},
    {"function": "api_keys.used", "arrange": keyed, "untold": ITSELF,
     "run": lambda db, scope, scene, key: api_keys.used(db, scope, key)},
    {"function": "api_keys.revoke", "arrange": keyed, "untold": ITSELF,
     "run": lambda db, scope, scene, key: api_keys.revoke(db, scope, key)},
    {"function": "api_keys.expire", "arrange": keyed, "untold": ITSELF,
     "run": lambda db, scope, scene, key: api_keys.expire(db, scope, key, after_s=60)},
    {"function": "idempotency.begin", "arrange": nothing, "untold": ITSELF, "scoped": False,
     "run": lambda db, scope, scene, _: begin(db, scope)},
    {"function": "idempotency.finish", "arrange": begun, "untold": ITSELF,
     "run": lambda db, scope, scene, turn: idempotency.finish(
         db, in_scope(turn, scope), status=200, body=b"sealed")},
    {"function": "idempotency.forget", "arrange": begun, "untold": ITSELF,
     "run": lambda db, scope, scene, turn: idempotency.forget(db, in_scope(turn, scope))},
    {"function": "idempotency.prune", "arrange": old, "untold": ITSELF, "won": bool,
     "run": lambda db, scope, scene, _: idempotency.prune(db, scope, keep_days=30)},
    {"function": "customers.create", "arrange": nothing, "untold": "no invoice changes",
     "scoped": False,
     "run": lambda db, scope, scene, _: create(db, scope)},
)
READS: tuple[tuple[Any, ...], ...] = (
    ("api_keys.all_of", api_keys.all_of, []),
    ("idempotency.kept", lambda db, scope: idempotency.kept(db, scope, AGAIN)),
    ("views_attempts.one", _an_attempt),
    ("views_refunds.one", _a_refund),
)
# fmt: on


MOVED: dict[str, str] = {
    sentence: f"UPDATE anchorhold.{table} SET {changes}"
    for sentence, table, changes in (
        ("the key was used just now", "api_key", "last_used_at = anchorhold.now()"),
        ("the key was revoked", "api_key", "revoked_at = anchorhold.now()"),
        ("the key has an end", "api_key", "expires_at = anchorhold.now()"),
        ("the request is answered", "idempotent_request", "status = 200, body = 'x'"),
        ("the turn is another's", "idempotent_request",
         "lease_until = lease_until + interval '1 second'"),
        ("the requests are young", "idempotent_request", "created_at = anchorhold.now()"),
    )
}  # fmt: skip
GUARDS: dict[str, tuple[str, ...]] = {
    "api_keys.used": ("the key was used just now",),
    "api_keys.revoke": ("the key was revoked",),
    "api_keys.expire": ("the key was revoked", "the key has an end"),
    "idempotency.finish": ("the request is answered", "the turn is another's"),
    "idempotency.forget": ("the request is answered", "the turn is another's"),
    "idempotency.prune": ("the requests are young",),
}
UNCONDITIONAL: dict[str, str] = {
    "api_keys.add": "held by the primary key and the unique beginning",
    "idempotency.begin": "held by the primary key; a turn that ended is taken over, see tests/api",
    "customers.create": "held by the primary key and the unique reference",
}


def _key(changes: str) -> str:
    return f"""
        INSERT INTO anchorhold.api_key SELECT (jsonb_populate_record(k, '{changes}')).* FROM (
            SELECT 'acc_ours' AS account_id, false AS livemode, 'key_1' AS id, 'secret' AS kind,
                   'shop' AS name, 'sk_test_1' AS prefix, '1234' AS last4,
                   decode(repeat('00', 32), 'hex') AS digest, '{{}}'::text[] AS grants,
                   '2026-12-01' AS version, now() AS created_at, NULL::timestamptz AS expires_at,
                   NULL::timestamptz AS revoked_at, NULL::timestamptz AS last_used_at
        ) row, jsonb_populate_record(NULL::anchorhold.api_key, to_jsonb(row)) k
    """


def _request(changes: str) -> str:
    return f"""
        INSERT INTO anchorhold.idempotent_request
        SELECT (jsonb_populate_record(r, '{changes}')).* FROM (
            SELECT 'acc_ours' AS account_id, false AS livemode, 'once' AS idempotency_key,
                   decode(repeat('00', 32), 'hex') AS digest, 'req_1' AS request_id,
                   now() AS lease_until, NULL::integer AS status, NULL::bytea AS body,
                   now() AS created_at
        ) row, jsonb_populate_record(NULL::anchorhold.idempotent_request, to_jsonb(row)) r
    """


SAME = "{}"
ILLEGAL: dict[str, tuple[str, ...]] = {
    "api_key_pkey": (_key(SAME) + ";" + _key('{"prefix": "sk_test_2"}'),),
    "api_key_prefix": (_key(SAME) + ";" + _key('{"id": "key_2"}'),),
    "api_key_kind_check": (_key('{"kind": "strange", "grants": ["x"]}'),),
    "api_key_digest_check": (_key('{"digest": "\\\\x00"}'),),
    "only_a_restricted_key_has_grants": (
        _key('{"kind": "restricted"}'),
        _key('{"grants": ["invoices:read"]}'),
    ),
    "idempotent_request_pkey": (_request(SAME) + ";" + _request(SAME),),
    "idempotent_request_idempotency_key_check": (_request('{"idempotency_key": ""}'),),
    "idempotent_request_digest_check": (_request('{"digest": "\\\\x00"}'),),
    "an_answer_is_whole": (_request('{"status": 200}'),),
}
"""For each rule, the statements that it refuses."""


def cases(_inv: Any) -> list[tuple[Any, ...]]:
    """What each statement may touch at a million invoices."""
    turn = Turn(OURS, AGAIN, REQUEST, datetime(2026, 1, 1, tzinfo=UTC))
    return [
        ("idempotency.begin", 60, lambda db, _: begin(db, OURS)),
        ("idempotency.kept", 60, lambda db, _: idempotency.kept(db, OURS, AGAIN), "", False),
        ("idempotency.finish", 60, lambda db, _: idempotency.finish(
            db, turn, status=200, body=b"x"), "", False),
        ("idempotency.forget", 60, lambda db, _: idempotency.forget(db, turn), "", False),
        ("idempotency.prune", 60, lambda db, _: idempotency.prune(
            db, OURS, keep_days=30), "", False),
        ("customers.create", 60, lambda db, _: another(db)),
        ("views_attempts.one", 60, lambda db, _: views_attempts.one(db, OURS, "att_x"), "", False),
        ("views_refunds.one", 60, lambda db, _: views_refunds.one(
            db, OURS, RefundId("rfd_x")), "", False),
    ]  # fmt: skip


SMALL = {
    "api_keys.add", "api_keys.all_of", "api_keys.expire", "api_keys.find", "api_keys.revoke",
    "api_keys.used",
}  # fmt: skip
"""An account has a handful of keys."""

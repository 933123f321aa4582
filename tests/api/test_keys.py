"""Keys: what they open, what they do not, and how they end."""

import pytest

from anchorhold import keys
from anchorhold.domain import api_key
from anchorhold.domain.api_key import SECRET_BYTES, KeyKind
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.ids import KeyId
from anchorhold.domain.refusals import Refusal
from anchorhold.store import api_keys
from tests.api.desk import Desk


async def test_a_key_opens_its_account_and_is_stored_only_as_a_hash(desk: Desk) -> None:
    text = await desk.key()
    assert (await desk.get("/invoices", key=text)).status == 200
    (row,) = desk.world.sql("SELECT to_jsonb(k)::text FROM anchorhold.api_key k")
    assert text[-20:] not in row[0]


@pytest.mark.parametrize(
    "text", ["", "sk_test_short", "sk_test_" + "0" * 52, "sk_live_" + "a" * 52, "pk_test_x" * 9]
)
async def test_what_is_no_key_opens_nothing(desk: Desk, text: str) -> None:
    got = await desk.get("/invoices", key=text)
    assert (got.status, got.body["error"]["type"]) == (401, "authentication_error")
    assert got.headers["www-authenticate"] == "Bearer"


async def test_without_a_key_nothing_is_told(desk: Desk) -> None:
    got = await desk.get("/invoices", key=None)
    assert (got.status, got.code) == (401, "key_missing")


async def test_the_beginning_of_a_key_alone_opens_nothing(desk: Desk) -> None:
    text = await desk.key()
    assert (await desk.get("/invoices", key=text[:-1] + "0")).status == 401 or text[-1] == "0"


async def test_a_revoked_key_opens_nothing(desk: Desk) -> None:
    row, text = await keys.create(desk.world.pool, desk.world.scope, name="x")
    await keys.revoke(desk.world.pool, desk.world.scope, row.id)
    assert (await desk.get("/invoices", key=text)).code == "key_invalid"
    with pytest.raises(Refusal) as refusal:
        await keys.revoke(desk.world.pool, desk.world.scope, row.id)
    assert refusal.value.code is ApiCode.KEY_ENDED


async def test_rotating_leaves_both_keys_open_for_a_while(desk: Desk) -> None:
    world = desk.world
    row, old = await keys.create(world.pool, world.scope, name="shop")
    made, new = await keys.rotate(world.pool, world.scope, row.id, overlap_s=3600)
    assert made.name == "shop"
    assert (await desk.get("/invoices", key=old)).status == 200
    assert (await desk.get("/invoices", key=new)).status == 200
    world.later(hours=2)
    assert (await desk.get("/invoices", key=old)).code == "key_invalid"
    assert (await desk.get("/invoices", key=new)).status == 200


async def test_a_key_that_is_not_there_cannot_be_changed(desk: Desk) -> None:
    with pytest.raises(Refusal) as refusal:
        await keys.rotate(desk.world.pool, desk.world.scope, KeyId("key_none"), overlap_s=0)
    assert refusal.value.code is ApiCode.KEY_NOT_FOUND


async def test_a_restricted_key_does_what_it_was_granted(desk: Desk) -> None:
    reader = await desk.key(None, "invoices:read")
    assert (await desk.get("/invoices", key=reader)).status == 200
    got = await desk.get("/customers", key=reader)
    assert (got.status, got.code) == (403, "grant_missing")
    body = {"customer": "acme", "amount": 100, "currency": "eur"}
    assert (await desk.post("/invoices", body, key=reader)).status == 403


async def test_whoever_may_write_may_read(desk: Desk) -> None:
    writer = await desk.key(None, "invoices:write")
    assert (await desk.get("/invoices", key=writer)).status == 200


async def test_a_right_that_is_none_is_refused_with_the_nearest_one(desk: Desk) -> None:
    with pytest.raises(Refusal, match="perhaps invoices:read was meant"):
        await desk.key(None, "invoice:read")


async def test_last_use_is_noted_once_a_minute(desk: Desk) -> None:
    text = await desk.key()
    (before,) = await api_keys.all_of(desk.world.pool, desk.world.scope)
    assert before.last_used_at is None
    await desk.get("/invoices", key=text)
    (first,) = await api_keys.all_of(desk.world.pool, desk.world.scope)
    await desk.get("/invoices", key=text)
    (second,) = await api_keys.all_of(desk.world.pool, desk.world.scope)
    assert first.last_used_at is not None
    assert first.last_used_at == second.last_used_at


async def test_more_requests_than_the_rate_are_refused_at_once(desk: Desk) -> None:
    object.__setattr__(desk.api, "rate", 2)
    text = await desk.key()
    got = [await desk.get("/invoices", key=text) for _ in range(3)]
    assert [answer.status for answer in got] == [200, 200, 429]
    assert got[2].headers["retry-after"] == "1"


async def test_an_answer_says_its_version_and_an_unknown_one_is_refused(desk: Desk) -> None:
    got = await desk.get("/invoices")
    assert got.headers["anchorhold-version"] == api_key.VERSION
    asked = await desk.get("/invoices", anchorhold_version="2001-01-01")
    assert (asked.status, asked.code) == (400, "version_unknown")


def test_a_key_needs_all_of_its_random_bytes() -> None:
    with pytest.raises(ValueError, match="random bytes"):
        api_key.spell(KeyKind.SECRET, b"x", livemode=False)
    key = api_key.spell(KeyKind.RESTRICTED, b"x" * SECRET_BYTES, livemode=True)
    assert key.text.startswith("rk_live_")
    assert key.text.startswith(key.prefix)
    assert api_key.fits(key.text, key.digest)


def test_a_key_is_never_said_whole() -> None:
    key = api_key.spell(KeyKind.SECRET, b"x" * SECRET_BYTES, livemode=False)
    assert key.text[8:-4] not in api_key.shown(key.text)
    assert api_key.shown("short") == "of that form"

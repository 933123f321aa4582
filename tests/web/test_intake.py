"""Stripe's webhooks over HTTP: each is kept with its verdict, and a good one brings its event."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stripe import WebhookSignature
from yarl import URL

from anchorhold import crypto
from anchorhold.domain.ids import SIGNING_SECRET
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.entropy import wall_clock
from anchorhold.logs import logger
from anchorhold.signing_keys import SigningKeys, place_of_signing_secret
from anchorhold.store import event_deliveries, signing_secrets
from anchorhold.web import intake
from tests.engine.test_deliver import NoProviders
from tests.store.scene import ACTOR, OURS, STRANGERS, Scene, scene
from tests.web.served import served

KEY = b"k" * 32
SECRET = "whsec_of_the_test"


@dataclass
class Door:
    """The endpoint over a real database, with what it woke."""

    scene: Scene
    client: aiohttp.ClientSession
    url: str
    woken: list[Scope] = field(default_factory=list)

    async def post(self, body: bytes, header: str | None, account: str = "acc_ours") -> int:
        headers = {"stripe-signature": header} if header is not None else {}
        url = URL(f"{self.url}/stripe/{account}", encoded=True)
        async with self.client.post(url, data=body, headers=headers) as answer:
            return answer.status

    async def send(self, *, secret: str = SECRET, age_s: int = 0, **event: Any) -> int:
        body = json.dumps(a(**event)).encode()
        return await self.post(body, sign(body, secret, age_s))

    def kept(self) -> list[tuple[Any, ...]]:
        return self.scene.sql(
            "SELECT verdict, signature, event_id FROM anchorhold.event_delivery ORDER BY id"
        )

    def events(self) -> list[str]:
        return [row[0] for row in self.scene.sql("SELECT id FROM anchorhold.event ORDER BY id")]


def a(**event: Any) -> dict[str, Any]:
    """A success of an intent of ours, as Stripe would tell it."""
    intent = {
        "object": "payment_intent", "id": "pi_1", "status": "succeeded", "amount": 14900,
        "amount_received": 14900, "currency": "eur", "latest_charge": "ch_1",
        "metadata": {"anchorhold_account_id": "acc_ours"},
    }  # fmt: skip
    return {
        "object": "event", "id": "evt_1", "type": "payment_intent.succeeded", "livemode": False,
        "created": 1_790_000_000, "api_version": "2026-10-28.endive", "data": {"object": intent},
        "request": {"id": "req_1", "idempotency_key": "key"}, **event,
    }  # fmt: skip


def sign(body: bytes, secret: str = SECRET, age_s: int = 0) -> str:
    at = int(wall_clock().timestamp()) - age_s
    return WebhookSignature.generate_signature_header(body.decode(), secret, at)


async def add_secret(made: Scene, scope: Scope, secret: str, *, overlap_s: float = 0) -> None:
    (new,) = made.db.new_ids(SIGNING_SECRET, 1)
    sealed = crypto.seal(KEY, secret, *place_of_signing_secret(scope, new))
    assert await signing_secrets.add(
        made.db, scope, new, secret=sealed, last4=secret[-4:], overlap_s=overlap_s
    )


@pytest_asyncio.fixture(name="door")
async def _door(database: str) -> AsyncGenerator[Door]:
    async with scene(database) as made:
        await add_secret(made, OURS, SECRET)
        deps = Deps(made.db, NoProviders(), made.timing, logger(), ACTOR)
        woken: list[Scope] = []

        async def wake(scope: Scope) -> None:
            woken.append(scope)

        app = FastAPI()
        app.router.routes.append(intake.route(deps, SigningKeys(made.db, KEY, logger()), wake))
        async with served(app) as url, aiohttp.ClientSession() as client:
            yield Door(made, client, url, woken)


async def test_a_good_delivery_brings_its_event_and_wakes_a_worker(door: Door) -> None:
    assert await door.send() == 200
    assert door.kept() == [("good", "valid", "evt_1")]
    assert (door.events(), door.woken) == (["evt_1"], [OURS])


async def test_a_repeat_is_kept_and_changes_nothing(door: Door) -> None:
    assert [await door.send(), await door.send()] == [200, 200]
    assert [row[0] for row in door.kept()] == ["good", "repeat"]
    assert (door.events(), len(door.woken)) == (["evt_1"], 1)


async def test_of_ten_at_once_one_brings_the_event(door: Door) -> None:
    assert set(await asyncio.gather(*(door.send() for _ in range(10)))) == {200}
    assert sorted(row[0] for row in door.kept()) == ["good", *["repeat"] * 9]


@pytest.mark.parametrize(("age_s", "verdict"), [(301, "stale"), (-302, "future")])
async def test_an_old_or_a_future_one_is_kept_and_not_believed(
    age_s: int, verdict: str, door: Door
) -> None:
    assert await door.send(age_s=age_s) == 400
    assert door.kept() == [(verdict, "valid", "evt_1")]
    assert door.events() == []


async def test_a_forged_one_leaves_none_of_its_words(door: Door) -> None:
    assert await door.send(secret="whsec_another") == 400
    assert door.kept() == [("forged", "forged", None)]


async def test_case_d5_an_unsigned_one_cannot_take_the_place_of_a_real_event(door: Door) -> None:
    body = json.dumps(a()).encode()
    assert await door.post(body, None) == 400
    assert await door.send() == 200
    assert [row[0] for row in door.kept()] == ["unsigned", "good"]
    assert door.events() == ["evt_1"]


async def test_case_d1_the_same_json_written_again_is_forged(door: Door) -> None:
    body = json.dumps(a(), indent=1).encode()
    again = json.dumps(json.loads(body)).encode()
    assert await door.post(again, sign(body)) == 400
    assert await door.post(body, sign(body)) == 200


async def test_live_news_under_a_test_secret_is_of_the_wrong_mode(door: Door) -> None:
    assert await door.send(livemode=True) == 400
    assert door.kept()[0][0] == "wrong_mode"


async def test_news_of_another_connected_account_is_not_ours(door: Door) -> None:
    assert await door.send(account="acct_9") == 400
    assert door.kept()[0][0] == "wrong_account"
    assert await door.send(account="acct_1") == 200


@pytest.mark.parametrize("header", [None, "t=1,v1=00", "forged"])
async def test_a_forgery_that_names_an_intent_of_ours_is_not_even_a_hint(
    header: str | None, door: Door
) -> None:
    """The cursor tells what is true; so strangers cannot make us ask Stripe, nor wake a worker."""
    (invoice,) = await door.scene.due()
    body = json.dumps(a()).replace("pi_1", f"pi_{invoice[4:]}").encode()
    said = sign(body, "whsec_guessed") if header == "forged" else header
    assert await door.post(body, said) == 400
    assert (door.events(), door.woken) == ([], [])


async def test_each_mode_has_its_own_secrets(door: Door) -> None:
    live = STRANGERS[0]
    await add_secret(door.scene, live, "whsec_live")
    assert await door.send(secret="whsec_live", livemode=True) == 200
    assert door.woken == [live]
    assert await door.send(secret="whsec_live", livemode=False) == 400


async def test_case_d5_an_account_without_a_secret_is_closed(door: Door) -> None:
    body = json.dumps(a()).encode()
    assert await door.post(body, sign(body), "acc_other") == 403
    assert await door.post(body, sign(body, ""), "acc_other") == 403
    assert [row[0] for row in door.kept()] == ["closed", "closed"]


@pytest.mark.parametrize("account", ["acc_nobody", "%00", "a" * 500, "unknown", "%F0%9F%92%B3"])
async def test_nobody_is_told_apart_from_nobody(account: str, door: Door) -> None:
    body = json.dumps(a()).encode()
    assert await door.post(body, sign(body), account) == 404
    assert door.kept() == [("unknown_account", "missing", None)]


async def test_more_than_any_event_is_not_read(door: Door) -> None:
    assert await door.post(b"x" * (intake.BODY_MAX + 1), "t=1,v1=0") == 413
    assert door.kept() == [("too_large", "missing", None)]


async def test_a_type_that_is_not_in_question_is_received_and_not_kept(door: Door) -> None:
    assert await door.send(type="product.created") == 200
    assert door.kept() == [("good", "valid", "evt_1")]
    assert door.events() == []


async def test_somebody_elses_intent_is_received_and_not_kept(door: Door) -> None:
    other = a()
    other["data"]["object"]["metadata"] = {}
    body = json.dumps(other).encode()
    assert await door.post(body, sign(body)) == 200
    assert door.events() == []


async def test_strangers_fill_no_table(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_deliveries.refuse, "__kwdefaults__", {"limit": 3})
    assert {await door.send(secret="whsec_another") for _ in range(6)} == {400}
    assert len(door.kept()) == 3
    assert await door.send() == 200, "the good ones are kept all the same"


async def test_case_d2_while_a_secret_is_rolled_both_are_believed(door: Door) -> None:
    await add_secret(door.scene, OURS, "whsec_new", overlap_s=3600)
    assert [await door.send(secret="whsec_new"), await door.send(id="evt_2")] == [200, 200]
    secrets = door.scene.sql("SELECT DISTINCT secret_id FROM anchorhold.event_delivery")
    assert len(secrets) == 2, "the row says which of them signed"


async def test_after_the_overlap_the_old_secret_signs_nothing(door: Door) -> None:
    await add_secret(door.scene, OURS, "whsec_new", overlap_s=0)
    assert [await door.send(secret="whsec_new"), await door.send(id="evt_2")] == [200, 400]
    assert door.events() == ["evt_1"]


@pytest.mark.parametrize("wrong", [
    b"", b"null", b"[]", b"{}", b'"event"', b"{", b"[" * 100_000, b'{"object":"event"}',
    json.dumps(a(id=None)).encode(), json.dumps(a(id=7)).encode(),
    json.dumps(a(created="x")).encode(), json.dumps(a(created=10**30)).encode(),
    json.dumps(a(created=-5)).encode(), json.dumps(a(data=None)).encode(),
    json.dumps(a(id="evt_\x00")).encode(), json.dumps(a(id="evt_\ud800")).encode(),
    json.dumps(a(livemode="false")).encode(), json.dumps(a(type="\x00")).encode(),
])  # fmt: skip
async def test_a_signed_body_that_is_no_event_is_a_row_and_no_error(
    wrong: bytes, door: Door
) -> None:
    status = await door.post(wrong, sign(wrong))
    assert status in {200, 400}
    assert len(door.kept()) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    part=st.sampled_from(["id", "type", "created", "livemode", "account", "data", "request",
                          "api_version", "object"]),
    value=JSON,
)  # fmt: skip
async def test_whatever_is_signed_is_answered_and_kept(
    part: str, value: object, door: Door
) -> None:
    body = json.dumps(a(**{part: value})).encode()
    before = len(door.kept())
    assert await door.post(body, sign(body)) in {200, 400}
    assert len(door.kept()) == before + 1


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(body=st.binary(max_size=300), header=st.none() | st.text(st.characters(max_codepoint=126)))
async def test_whatever_strangers_send_is_refused(
    body: bytes, header: str | None, door: Door
) -> None:
    said = None if header is None else "".join(c for c in header if c.isprintable()).strip()
    assert await door.post(body, said) == 400

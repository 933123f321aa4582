"""What others are told: made from the journal once, tried in order, ended by the try that was."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from anchorhold.domain.ids import DELIVERY, ENDPOINT, DeliveryId
from anchorhold.domain.payment import Source
from anchorhold.domain.webhook import TOLD, TYPES
from anchorhold.store import endpoints, messages, payments
from anchorhold.store.endpoints import Endpoint
from anchorhold.store.messages import Due, Try
from tests.store import news
from tests.store.scene import ACTOR, AMOUNT, OURS, STRANGERS, Scene, success

DELIVERED = Try("O1", "200", 12, "thank you", delivered=True, wait_s=None)
AGAIN = Try("O5", "500", 12, "oh", delivered=False, wait_s=300)
GIVEN_UP = Try("O5", "500", 12, "oh", delivered=False, wait_s=None)


async def endpoint(scene: Scene, url: str = "https://example.com/hook", *types: str) -> Endpoint:
    made = await endpoints.add(
        scene.db,
        OURS,
        scene.db.new_ids(ENDPOINT, 1)[0],
        url=url,
        types=types,
        description="",
        secret=b"sealed",
    )
    assert made
    return made


async def paid(scene: Scene, *, amount: int = AMOUNT) -> None:
    (invoice,) = await scene.due()
    news = success(invoice, amount=amount)
    assert await payments.settle(scene.db, OURS, invoice, news, Source.FOLLOWER, actor=ACTOR)


async def due(scene: Scene) -> Due:
    """One delivery that is taken for its first try."""
    await endpoint(scene)
    await paid(scene)
    assert len(await messages.make(scene.db, OURS, limit=9)) == 1
    (taken,) = await messages.take(scene.db, OURS, limit=9)
    return taken


async def told(scene: Scene, type_: str) -> Due:
    """The message of this type, taken for its first try."""
    await messages.make(scene.db, OURS, limit=9)
    (found,) = [row for row in await messages.take(scene.db, OURS, limit=9) if row.type == type_]
    return found


def state(scene: Scene) -> list[tuple[object, ...]]:
    return scene.sql(
        "SELECT state, tries, last_said FROM anchorhold.webhook_delivery ORDER BY created_at, id"
    )


async def test_a_payment_is_told_once(scene: Scene) -> None:
    taken = await due(scene)
    assert (taken.type, taken.tries, taken.url) == ("invoice.paid", 1, "https://example.com/hook")
    assert taken.data["status"] == "paid"
    assert taken.data["amount_paid"] == AMOUNT
    assert len(await messages.make(scene.db, OURS, limit=9)) == 0


async def test_a_payment_of_too_much_is_two_messages(scene: Scene) -> None:
    await endpoint(scene)
    await paid(scene, amount=AMOUNT + 1)
    assert len(await messages.make(scene.db, OURS, limit=9)) == 1
    types = {row.type for row in await messages.take(scene.db, OURS, limit=9)}
    assert types == {"invoice.paid", "payment.amount_mismatch"}


async def test_a_refund_says_how_much_was_given_back(scene: Scene) -> None:
    await endpoint(scene)
    payment = await news.paid(scene)
    await news.record(scene.db, OURS, payment)
    given_back = await told(scene, "payment.refunded")
    assert (given_back.data["payment_id"], given_back.data["amount"]) == (payment.payment_id, 500)
    assert str(given_back.data["refund_id"]).startswith("rfd_")
    assert "dispute" not in given_back.data


@pytest.mark.parametrize(
    ("status", "type_", "dispute"),
    [
        ("needs_response", "payment.disputed", "open"),
        ("warning_needs_response", "payment.disputed", "inquiry"),
        ("won", "payment.dispute_closed", "won"),
        ("lost", "payment.dispute_closed", "lost"),
        ("warning_closed", "payment.dispute_closed", "closed"),
    ],
)
async def test_a_dispute_says_how_it_stands(
    status: str, type_: str, dispute: str, scene: Scene
) -> None:
    await endpoint(scene)
    payment = await news.paid(scene)
    await news.dispute(scene.db, OURS, payment, status)
    message = await told(scene, type_)
    assert (message.data["payment_id"], message.data["dispute"]) == (payment.payment_id, dispute)
    assert message.data["payment_status"] == ("failed" if dispute == "lost" else "succeeded")


async def test_dunning_tells_of_each_step_and_of_its_end(scene: Scene) -> None:
    await endpoint(scene)
    await scene.due()
    for what, detail in (("step", '{"number": 1}'), ("finished", '{"outcome": "paid"}')):
        scene.any_sql(
            "INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)"
            f" SELECT account_id, livemode, id, 'test', 'dunning.{what}',"
            f" '{detail}'::jsonb || jsonb_build_object('run_id', 'dun_1') FROM anchorhold.invoice"
        )
    await messages.make(scene.db, OURS, limit=9)
    said = [
        (row.type, row.data["dunning_run_id"], row.data.get("dunning_outcome"))
        for row in await messages.take(scene.db, OURS, limit=9)
    ]
    assert said == [("dunning.step", "dun_1", None), ("dunning.finished", "dun_1", "paid")]


async def test_an_endpoint_hears_of_its_types_only(scene: Scene) -> None:
    await endpoint(scene, "https://example.com/paid", "invoice.paid")
    await endpoint(scene, "https://example.com/void", "invoice.voided")
    await paid(scene)
    await messages.make(scene.db, OURS, limit=9)
    assert [row.url for row in await messages.take(scene.db, OURS, limit=9)] == [
        "https://example.com/paid"
    ]


async def test_strangers_hear_and_take_nothing(scene: Scene) -> None:
    await endpoint(scene)
    await paid(scene)
    for stranger in STRANGERS:
        assert await messages.make(scene.db, stranger, limit=9) == []
    await messages.make(scene.db, OURS, limit=9)
    for stranger in STRANGERS:
        assert await messages.take(scene.db, stranger, limit=9) == []
        assert await endpoints.all_of(scene.db, stranger) == []


async def test_an_endpoint_hears_of_what_happens_after_it_was_added(scene: Scene) -> None:
    await paid(scene)
    assert len(await messages.make(scene.db, OURS, limit=9)) == 0, "nobody listens"
    await endpoint(scene)
    assert len(await messages.make(scene.db, OURS, limit=9)) == 0
    await endpoint(scene, "https://example.com/second")
    await paid(scene)
    await endpoint(scene, "https://example.com/third")
    assert len(await messages.make(scene.db, OURS, limit=9)) == 1
    assert {row.url for row in await messages.take(scene.db, OURS, limit=9)} == {
        "https://example.com/hook",
        "https://example.com/second",
    }


async def test_what_was_taken_is_left_alone_for_a_minute(scene: Scene) -> None:
    await due(scene)
    assert await messages.take(scene.db, OURS, limit=9) == []


async def test_a_try_that_was_delivered_ends_it(scene: Scene) -> None:
    taken = await due(scene)
    assert await messages.end_try(scene.db, OURS, taken, DELIVERED) == "delivered"
    assert state(scene) == [("delivered", 1, "200")]
    assert await messages.end_try(scene.db, OURS, taken, AGAIN) is None


async def test_a_try_that_failed_waits_for_the_next(scene: Scene) -> None:
    taken = await due(scene)
    assert await messages.end_try(scene.db, OURS, taken, AGAIN) == "waiting"
    scene.sql("UPDATE anchorhold.webhook_delivery SET next_try_at = anchorhold.now()")
    (again,) = await messages.take(scene.db, OURS, limit=9)
    assert (again.id, again.message_id, again.tries) == (taken.id, taken.message_id, 2)


async def test_a_process_that_was_frozen_in_its_try_changes_nothing(scene: Scene) -> None:
    frozen = await due(scene)
    scene.sql("UPDATE anchorhold.webhook_delivery SET next_try_at = anchorhold.now()")
    (second,) = await messages.take(scene.db, OURS, limit=9)
    assert await messages.end_try(scene.db, OURS, frozen, GIVEN_UP) is None
    assert await messages.end_try(scene.db, OURS, second, DELIVERED) == "delivered"


async def test_the_last_try_switches_its_endpoint_off_and_tells_a_person(scene: Scene) -> None:
    taken = await due(scene)
    await paid(scene)
    await messages.make(scene.db, OURS, limit=9)
    assert await messages.end_try(scene.db, OURS, taken, GIVEN_UP) == "failed"
    assert sorted(str(row[0]) for row in state(scene)) == ["dropped", "failed"]
    (off,) = await endpoints.all_of(scene.db, OURS)
    assert off.disabled_reason == "500"
    notices = scene.sql("SELECT code, evidence->>'endpoint_id' FROM anchorhold.notice")
    assert notices == [("webhook.endpoint_disabled", off.id)]


async def test_what_happens_while_an_endpoint_is_off_is_for_a_replay(scene: Scene) -> None:
    taken = await due(scene)
    await messages.end_try(scene.db, OURS, taken, GIVEN_UP)
    await paid(scene)
    await messages.make(scene.db, OURS, limit=9)
    assert await messages.take(scene.db, OURS, limit=9) == []
    assert await endpoints.switch_on(scene.db, OURS, taken.endpoint_id)
    assert await endpoints.switch_on(scene.db, OURS, taken.endpoint_id) is None
    since = scene.now() - timedelta(hours=1)
    (again,) = scene.db.new_ids(DELIVERY, 1)
    range_ = {"since": since, "until": since + timedelta(hours=2)}
    assert await messages.replay(scene.db, OURS, taken.endpoint_id, again, **range_) == 2
    assert len(await messages.take(scene.db, OURS, limit=9)) == 2


async def test_what_is_sent_again_by_hand_waits_anew_and_keeps_its_log(scene: Scene) -> None:
    taken = await due(scene)
    assert await messages.resend(scene.db, OURS, taken.id) is None
    await messages.end_try(scene.db, OURS, taken, DELIVERED)
    assert await messages.resend(scene.db, OURS, taken.id) == taken.id
    (again,) = await messages.take(scene.db, OURS, limit=9)
    assert (again.tries, again.tries_before) == (2, 1)
    assert await messages.end_try(scene.db, OURS, again, DELIVERED) == "delivered"
    assert len(scene.sql("SELECT number FROM anchorhold.webhook_try")) == 2


async def test_an_endpoint_that_is_removed_hears_nothing_more(scene: Scene) -> None:
    taken = await due(scene)
    assert await endpoints.remove(scene.db, OURS, taken.endpoint_id)
    assert await endpoints.remove(scene.db, OURS, taken.endpoint_id) is None
    assert await messages.end_try(scene.db, OURS, taken, DELIVERED) is None
    assert await messages.resend(scene.db, OURS, taken.id) is None
    assert await endpoint(scene), "the URL is free again"


async def test_a_url_has_one_endpoint(scene: Scene) -> None:
    await endpoint(scene)
    second = scene.db.new_ids(ENDPOINT, 1)[0]
    url = "https://example.com/hook"
    arguments = {"url": url, "types": (), "description": "", "secret": b"other"}
    assert await endpoints.add(scene.db, OURS, second, **arguments) is None


async def test_two_secrets_sign_until_the_overlap_is_over(scene: Scene) -> None:
    made = await endpoint(scene)
    until = await endpoints.rotate(scene.db, OURS, made.id, secret=b"new", overlap_s=3600)
    assert until
    assert await endpoints.rotate(scene.db, OURS, made.id, secret=b"third", overlap_s=1) is None
    await paid(scene)
    await messages.make(scene.db, OURS, limit=9)
    (taken,) = await messages.take(scene.db, OURS, limit=9)
    assert (taken.secret, taken.old_secret) == (b"new", b"sealed")
    scene.sql("UPDATE anchorhold.webhook_endpoint SET old_secret_until = anchorhold.now()")
    scene.sql("UPDATE anchorhold.webhook_delivery SET next_try_at = anchorhold.now()")
    (later,) = await messages.take(scene.db, OURS, limit=9)
    assert (later.secret, later.old_secret) == (b"new", None)


def test_the_index_of_what_is_untold_knows_every_word(scene: Scene) -> None:
    definition = scene.value("SELECT pg_get_indexdef('anchorhold.journal_untold'::regclass)")
    assert {what for what in TOLD if f"'{what}'" in definition} == TOLD
    assert definition.count("'::text") == len(TOLD)
    assert TYPES


Act = Callable[[Scene, Due], Awaitable[object]]


@pytest.mark.parametrize("number", [0, 2])
async def test_only_the_try_that_was_taken_last_ends_it(number: int, scene: Scene) -> None:
    taken = await due(scene)
    other = replace(taken, tries=number)
    assert await messages.end_try(scene.db, OURS, other, DELIVERED) is None
    nobody = replace(taken, id=DeliveryId(scene.db.new_ids(DELIVERY, 1)[0]))
    assert await messages.end_try(scene.db, OURS, nobody, DELIVERED) is None

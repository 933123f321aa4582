"""The catch-up: where it begins, how the cursor moves, and what a death at each step leaves."""

import contextlib
from urllib.parse import parse_qs

import psycopg
import pytest

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.audit import Audited, audit
from anchorhold.twin.faults import FaultKind, Rule
from tests.engine.left import notices
from tests.engine.rig import CrashError, Gate, Rig, When
from tests.engine.stripe_side import EVENTS, AtStripe, Turn, between, refusal, sent_by, unreadable
from tests.engine.test_news import offered

CURSOR = "SELECT read_to > now() - interval '1 minute' FROM anchorhold.event_cursor"


async def reads(world: Rig, gate: Gate | None = None) -> Audited:
    return await audit(world.deps(gate), world.scope)


async def paid_on_the_page(world: Rig) -> InvoiceId:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    return invoice


async def test_the_first_time_it_looks_back_thirty_days(world: Rig) -> None:
    invoice = await paid_on_the_page(world)
    world.later(days=29)
    assert (await reads(world)).rows == {"N1": 1}
    assert world.row(invoice)["status"] == "paid"


async def test_it_goes_on_where_it_ended_with_an_hour_of_overlap(world: Rig) -> None:
    await reads(world)
    world.later(hours=5)
    asked = sent_by(world, EVENTS)
    assert (await reads(world)).read == 0
    (request,) = asked
    asked_for = parse_qs(request.query)
    gte, lt = (int(asked_for[f"created[{word}]"][0]) for word in ("gte", "lt"))
    assert lt - gte == pytest.approx(6 * 3600, abs=5)


async def test_what_was_read_is_not_read_twice(world: Rig) -> None:
    await paid_on_the_page(world)
    assert (await reads(world)).read == 1
    again = await reads(world)
    assert (again.read, again.rows) == (0, {})


async def test_an_event_that_stripe_lists_late_is_still_read(world: Rig) -> None:
    """The cursor is behind it; the hour of overlap is not."""
    await paid_on_the_page(world)
    await reads(world)
    world.sql("DELETE FROM anchorhold.event")
    world.later(minutes=50)
    assert (await reads(world)).read == 1


@pytest.mark.parametrize("answer", [refusal(500, type="api_error"), unreadable()])
async def test_without_an_answer_the_cursor_stays(world: Rig, answer: Turn) -> None:
    invoice = await paid_on_the_page(world)
    between(world, (EVENTS, answer))
    assert (await reads(world)).stopped == "Stripe did not list its events"
    assert world.sql(CURSOR) == [(False,)]
    assert (await reads(world)).rows == {"N1": 1}
    assert world.row(invoice)["status"] == "paid"
    assert world.sql(CURSOR) == [(True,)]


async def test_a_list_that_takes_too_long_is_cut_into_shorter_times(world: Rig) -> None:
    invoice = await paid_on_the_page(world)
    world.twin.faults.replace(
        [Rule(FaultKind.SLOW, "GET /v1/events", calls=frozenset({1, 2}), seconds=60)]
    )
    asked = sent_by(world, EVENTS)
    audited = await reads(world)
    assert (audited.stopped, audited.rows) == (None, {"N1": 1})
    assert len(asked) == 2 + 16
    assert world.row(invoice)["status"] == "paid"


async def test_a_gap_that_stripe_does_not_remember_is_said_once(world: Rig) -> None:
    await reads(world)
    world.later(days=40)
    between(world, (EVENTS, refusal(500, type="api_error")))
    await reads(world)
    await reads(world)
    assert notices(world) == ["events.gap"]
    said = [event for level, event, _ in world.log.lines if level == "error"]
    assert said.count("events.gap") == 2


async def test_a_first_look_that_was_cut_is_no_gap(world: Rig) -> None:
    """The cursor stands where it began, 30 days back, and time goes on."""
    between(world, (EVENTS, refusal(500, type="api_error")))
    await reads(world)
    world.later(days=2)
    await reads(world)
    assert notices(world) == []


async def test_a_first_look_that_was_cut_for_longer_than_stripe_remembers_is_one(
    world: Rig,
) -> None:
    between(world, (EVENTS, refusal(500, type="api_error")))
    await reads(world)
    world.later(days=31)
    await reads(world)
    assert notices(world) == ["events.gap"]


async def test_a_mode_that_is_not_connected_has_no_news(world: Rig) -> None:
    world.connected = False
    assert await reads(world) == Audited()


async def test_only_the_connected_stripe_accounts_events_are_acted_on(world: Rig) -> None:
    invoice = await paid_on_the_page(world)
    with contextlib.suppress(CrashError):
        await reads(world, Gate(dies_at=("db events.take", 1, When.BEFORE)))
    world.sql("UPDATE anchorhold.connection SET stripe_account = 'acct_2'")
    world.stripe_account = "acct_2"
    assert (await reads(world)).rows == {"N0": 1}
    assert world.row(invoice)["status"] == "open"


async def test_a_foreign_charge_leaves_no_row(world: Rig) -> None:
    client = AtStripe(world).client()
    client.done(
        "/v1/payment_intents", amount=500, currency="eur", payment_method="pm_card_visa",
        confirm=True, return_url="https://example.com/back",
    )  # fmt: skip
    assert (await reads(world)).read == 0


STEPS = ("db event_cursors.begin", "stripe list_news", "db events.put", "db event_cursors.advance",
         "db events.take", "db events.match", "db payments.settle", "db events.done",
         "db refunds.take_unfinished")  # fmt: skip


async def test_the_steps_are_those(world: Rig) -> None:
    await paid_on_the_page(world)
    gate = Gate()
    await reads(world, gate)
    assert list(dict.fromkeys(gate.passed)) == list(STEPS)


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("at", STEPS)
async def test_whoever_dies_there_loses_no_event(world: Rig, at: str, when: When) -> None:
    """Every webhook is lost; the reader dies once at each of its steps."""
    invoice = await paid_on_the_page(world)
    with contextlib.suppress(CrashError, psycopg.OperationalError):
        await reads(world, Gate(dies_at=(at, 1, when)))
    world.later(minutes=2)
    await reads(world)
    assert world.row(invoice)["status"] == "paid"
    assert len(world.sql("SELECT 1 FROM anchorhold.payment")) == 1
    assert world.sql("SELECT state FROM anchorhold.event") == [("done",)]
    assert world.sql(CURSOR) == [(True,)]

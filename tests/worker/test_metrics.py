"""The metrics say what the process did and how the rows stand."""

from collections.abc import Mapping

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from anchorhold.domain.alarms import Overdue, overdue
from anchorhold.domain.answer import (
    Doubt,
    NothingSent,
    NotSent,
    Refused,
    Result,
    Shown,
    Unclear,
)
from anchorhold.domain.hold import HoldState
from anchorhold.domain.timing import Timing
from anchorhold.metrics import Exposition, Meters, answer_class
from anchorhold.store import accounts, metrics
from anchorhold.twin import FaultKind, Rule
from anchorhold.worker.batch import collect_batch
from anchorhold.worker.charges import Charges
from anchorhold.worker.check import check
from tests.worker.world import World

CONFIRM = "POST /v1/payment_intents/{id}/confirm"
RETRIEVE = "GET /v1/payment_intents/{id}"

HOLD = """
    UPDATE anchorhold.invoice
       SET hold_until = anchorhold.now() - make_interval(secs => %s), hold_attempt = 'att_x',
           payment_status = %s, status = %s
     WHERE id = %s
"""
UNHELD = "unknown_is_held_or_followed"
EPSILON_S = 30
"""More than a test lasts."""


async def shown(exposition: Exposition) -> Mapping[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families((await exposition.text()).decode())
        for sample in family.samples
    }


@pytest.fixture
def meters() -> Meters:
    return Meters()


@pytest.fixture
def exposition(world: World, meters: Meters) -> Exposition:
    return Exposition(world.app.deps.db, world.app.deps.timing, meters, world.app.wires)


async def held(world: World, ended_s_ago: float, *, parked: bool, status: str = "open") -> None:
    """One more invoice with a hold that ended so long ago."""
    (invoice,) = await world.invoices(1, prefix=f"H{ended_s_ago}{parked}{status}")
    unclear = "unknown" if parked else "pending"
    world.sql(HOLD, ended_s_ago, unclear, status, invoice)


async def test_holds_are_told_by_lane_with_the_age_of_the_oldest(
    world: World, exposition: Exposition
) -> None:
    for seconds in (-60, 100, 7000):
        await held(world, seconds, parked=False)
    await held(world, 50_000, parked=True)
    found = await shown(exposition)
    lanes = {lane: found["anchorhold_holds", lane] for lane in ("live", "confirming", "parked")}
    assert lanes == {"live": 1, "confirming": 2, "parked": 1}
    assert 7000 <= found["anchorhold_oldest_hold_age_seconds", "confirming"] < 7000 + EPSILON_S
    assert 50_000 <= found["anchorhold_oldest_hold_age_seconds", "parked"] < 50_000 + EPSILON_S


@pytest.mark.parametrize("parked", [False, True])
@pytest.mark.parametrize("status", ["open", "uncollectible"])
async def test_the_gauges_call_what_the_rule_calls_overdue(
    world: World, status: str, *, parked: bool
) -> None:
    timing = Timing()
    state = HoldState.PARKED if parked else HoldState.STALE
    bound = timing.parked_alarm_seconds if parked else timing.hold_alarm_seconds
    ages = [bound - EPSILON_S, bound + 1, bound + 1000]
    for age in ages:
        await held(world, age, parked=parked, status=status)
    seen = await metrics.holds(world.app.deps.db, timing)
    by_rule = [overdue(state, age, timing) for age in ages]
    parks = seen.overdue_parks_open if status == "open" else seen.overdue_parks_written_off
    assert by_rule.count(Overdue.HOLD) == seen.overdue
    assert by_rule.count(Overdue.PARK) == parks if parked else seen.overdue == 2
    assert seen.overdue + seen.overdue_parks_open + seen.overdue_parks_written_off == 2


def test_a_live_hold_and_a_followed_intent_are_no_alarm() -> None:
    for state in (HoldState.LIVE, HoldState.FOLLOWING, HoldState.NONE):
        assert overdue(state, 1e9, Timing()) is None


async def test_an_unclear_invoice_without_a_hold_is_seen(
    world: World, exposition: Exposition
) -> None:
    """H2: a constraint forbids it, so the constraint is taken away meanwhile."""
    await world.invoices(1)
    ((rule,),) = world.sql(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", UNHELD
    )
    with psycopg.connect(world.app.conninfo, autocommit=True) as conn:
        conn.execute(f"ALTER TABLE anchorhold.invoice DROP CONSTRAINT {UNHELD}".encode())
        conn.execute("SET session_replication_role = replica")  # no trigger tells of a park
        try:
            conn.execute("UPDATE anchorhold.invoice SET payment_status = 'unknown'")
            found = await shown(exposition)
        finally:
            conn.execute("UPDATE anchorhold.invoice SET payment_status = 'pending'")
            again = f"ALTER TABLE anchorhold.invoice ADD CONSTRAINT {UNHELD} {rule}"
            conn.execute(again.encode())
    assert found["anchorhold_parked_invoices_without_hold",] == 1


async def test_charges_are_counted_by_their_end_and_calls_by_their_answer(
    world: World, meters: Meters, exposition: Exposition
) -> None:
    await world.invoices(3)
    await collect_batch(world.app.deps, world.scope, charges=Charges(meters))
    found = await shown(exposition)
    assert found["anchorhold_attempts_total", "paid", "settle", "A1"] == 3


async def test_checks_and_stopped_sweeps_are_counted(
    world: World, meters: Meters, exposition: Exposition
) -> None:
    await world.invoices(4)
    world.faults(
        Rule(FaultKind.DROPPED_AFTER, CONFIRM, probability=1),
        Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, probability=1),
    )
    await collect_batch(world.app.deps, world.scope, limit=4)
    world.sql("UPDATE anchorhold.invoice SET hold_until = hold_until - interval '1 hour'")
    world.sql("UPDATE anchorhold.attempt SET hold_until = hold_until - interval '1 hour'")
    await check(world.app.deps, world.scope, meter=meters)
    found = await shown(exposition)
    assert found["anchorhold_checks_total", "S14"] == 3
    assert found["anchorhold_sweeps_stopped_total", "silence"] == 1


async def test_a_tick_leaves_its_end_and_its_duration(
    meters: Meters, exposition: Exposition
) -> None:
    assert (await shown(exposition))["anchorhold_tick_last_end_timestamp_seconds",] == 0
    meters.ticked(1.5)
    found = await shown(exposition)
    assert found["anchorhold_tick_last_end_timestamp_seconds",] > 1.7e9
    assert found["anchorhold_tick_duration_seconds",] == 1.5


async def test_a_flagged_account_is_counted(world: World, exposition: Exposition) -> None:
    connection = await accounts.connection(world.app.deps.db, world.scope)
    assert connection is not None
    await accounts.refuse(
        world.app.deps.db,
        world.scope,
        key_fingerprint=connection.key_fingerprint,
        reason="no such key",
    )
    found = await shown(exposition)
    assert found["anchorhold_connected_accounts",] == found["anchorhold_flagged_accounts",] == 1


async def test_the_breaker_shows_one_state(world: World, exposition: Exposition) -> None:
    for _ in range(5):
        permit = world.app.wires.breaker.admit()
        assert permit is not None
        world.app.wires.breaker.record(permit, Refused(503))
    found = await shown(exposition)
    states = {state: found["anchorhold_breaker_state", state] for state in ("closed", "open")}
    assert states == {"closed": 0, "open": 1}
    assert found["anchorhold_breaker_failures",] == 5


async def test_readings_are_shown_again_for_a_while(
    world: World, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shown(exposition)

    async def never(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(metrics, "read", never)
    assert (await shown(exposition))["anchorhold_database_up",] == 1


async def test_a_database_that_is_gone_leaves_no_old_numbers(
    exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> None:
        raise psycopg.OperationalError("server closed the connection")

    monkeypatch.setattr(metrics, "read", gone)
    found = await shown(exposition)
    assert found["anchorhold_database_up",] == 0
    assert not [name for name in found if name[0] == "anchorhold_holds"]


ANSWERS: list[tuple[Result[object], str]] = [
    (Shown("anything"), "2xx"),
    (Refused(402), "402"),
    (Refused(429), "429"),
    (Refused(403), "4xx"),
    (Refused(503), "5xx"),
    (NothingSent(NotSent.CONNECT_FAILED), "not_sent"),
    (Unclear(Doubt.DEADLINE), "unclear"),
]


@pytest.mark.parametrize(("result", "word"), ANSWERS)
def test_an_answer_has_its_class(result: Result[object], word: str) -> None:
    assert answer_class(result) == word


async def test_a_call_is_told_with_its_endpoint(meters: Meters, exposition: Exposition) -> None:
    meters.called("get /v1/refunds/{}", Shown("re_1"), 0.2)
    found = await shown(exposition)
    assert found["anchorhold_stripe_calls_total", "2xx", "GET /v1/refunds/{id}"] == 1
    assert found["anchorhold_stripe_call_seconds_bucket", "GET /v1/refunds/{id}", "0.2"] == 1

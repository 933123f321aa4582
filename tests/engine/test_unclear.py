"""Answers that are no answer, and requests that never left: what is kept, and how it ends."""

import pytest

from anchorhold.twin.faults import FaultKind, Rule
from anchorhold.twin.world import SECRET_KEY
from tests.engine.charging import charge, ends, fails
from tests.engine.left import Left, left
from tests.engine.rig import Rig
from tests.engine.stripe_side import (
    CONFIRM,
    refusal,
    unreadable,
)


@pytest.mark.parametrize(
    ("kind", "rule"), [(FaultKind.LOCK_TIMEOUT, "A13"), (FaultKind.CONFLICT, "A15")]
)
async def test_a13_a15_another_request_at_work_keeps_the_hold_and_counts_no_try(
    world: Rig, kind: FaultKind, rule: str
) -> None:
    invoice, charged = await charge(world, fault=fails(kind))
    assert (charged.rule, charged.saved) == (rule, "sending")
    assert left(world, invoice) == Left(
        "open", "pending", False, 0, ("sending", "another_request", rule), "live"
    )
    await ends(world, invoice, paid=True)
    assert "failed" not in {state for state, _ in world.attempts(invoice)}


async def test_a14_a_limiter_backs_off_and_keeps_the_key(world: Rig) -> None:
    invoice, charged = await charge(world, fault=fails(FaultKind.RATE_LIMIT))
    assert (charged.rule, charged.saved) == ("A14", "not_sent")
    assert left(world, invoice) == Left(
        "open", "pending", True, 0, ("not_sent", "rate_limited", "A14"), "live"
    )
    assert await world.charge_due() == [], "the account backs off"
    await ends(world, invoice, paid=True)
    keys = world.sql("SELECT DISTINCT idempotency_key FROM anchorhold.attempt")
    assert len(keys) == 1


UNCLEAR = [
    (FaultKind.ERROR_500_WITHOUT_EFFECT, "A16", "server_error"),
    (FaultKind.DROPPED_BEFORE, "A18", "connection_lost"),
    (FaultKind.LATE, "A18", "deadline"),
]


@pytest.mark.parametrize(("kind", "rule", "cause"), UNCLEAR)
async def test_a16_a18_an_unclear_answer_without_effect_is_unknown_and_held(
    world: Rig, kind: FaultKind, rule: str, cause: str
) -> None:
    invoice, charged = await charge(world, fault=Rule(kind, CONFIRM, frozenset({1}), seconds=600))
    assert (charged.rule, charged.saved) == (rule, "unknown")
    assert left(world, invoice) == Left(
        "open", "unknown", False, 0, ("unknown", cause, rule), "live"
    )
    world.twin.run_late()
    await ends(world, invoice, paid=True)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (FaultKind.ERROR_500_WITH_EFFECT, "A16"),
        (FaultKind.DROPPED_AFTER, "A18"),
        (FaultKind.CUT, "A18"),
    ],
)
async def test_a16_a18_an_unclear_answer_with_effect_is_settled_at_once(
    world: Rig, kind: FaultKind, rule: str
) -> None:
    invoice, charged = await charge(world, fault=fails(kind))
    assert (charged.rule, charged.saved) == (rule, "paid")
    assert left(world, invoice).attempt == ("succeeded", "answered", rule)
    await ends(world, invoice, paid=True)


@pytest.mark.parametrize("kind", [FaultKind.ERROR_500_WITH_EFFECT, FaultKind.DROPPED_AFTER])
async def test_a16_a18_an_unclear_answer_to_a_decline_is_the_decline(
    world: Rig, kind: FaultKind
) -> None:
    invoice, charged = await charge(world, method="pm_card_chargeCustomerFail", fault=fails(kind))
    assert charged.saved == "failed"
    assert left(world, invoice).attempt[:2] == ("failed", "answered")
    await ends(world, invoice, paid=False)


async def test_a16_a_424_is_looked_up(world: Rig) -> None:
    invoice, charged = await charge(world, (CONFIRM, refusal(424, type="api_error")))
    assert (charged.rule, charged.saved) == ("A16", "unknown")
    await ends(world, invoice, paid=True)


async def test_a16_a_saved_500_is_never_repeated_under_its_key(world: Rig) -> None:
    invoice, _ = await charge(world, fault=fails(FaultKind.ERROR_500_WITHOUT_EFFECT))
    await ends(world, invoice, paid=True)
    keys = [e.idempotency_key for e in world.twin.requests if e.path.endswith("/confirm")]
    assert len(keys) == len(set(keys)) == 2


async def test_a17_a_refused_connection_frees_the_hold_and_keeps_the_key(world: Rig) -> None:
    invoice, charged = await charge(world, fault=fails(FaultKind.REFUSED))
    assert (charged.rule, charged.saved) == ("A17", "not_sent")
    assert left(world, invoice) == Left(
        "open", "pending", True, 0, ("not_sent", "connect_failed", "A17"), "live"
    )
    await ends(world, invoice, paid=True)


async def test_a17_a_recheck_that_comes_too_late_sends_nothing(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    claims = await world.claim_due()
    world.sql("UPDATE anchorhold.invoice SET amount_due = amount_due + 1")
    (charged,) = await world.charge_all(claims)
    assert (charged.rule, charged.saved) == ("R1", "not_sent")
    assert left(world, invoice).attempt == ("not_sent", "recheck_refused", "R1")
    assert not [e for e in world.twin.requests if e.path.endswith("/confirm")]


@pytest.mark.parametrize(("minutes", "sends"), [(2.9, True), (3.1, False)])
async def test_a17_with_less_than_two_minutes_left_nothing_is_sent(
    world: Rig, minutes: float, sends: bool
) -> None:
    """A process that was frozen in between: its call could outlive its hold (R4)."""
    invoice = await world.invoice()
    await world.prepare()
    claims = await world.claim_due()
    world.later(minutes=minutes)
    (charged,) = await world.charge_all(claims)
    assert charged.saved == ("paid" if sends else "not_sent")
    assert left(world, invoice).free
    assert bool([e for e in world.twin.requests if e.path.endswith("/confirm")]) == sends
    await ends(world, invoice, paid=True)


@pytest.mark.parametrize("status", [200, 404, 502])
async def test_a18_what_a_proxy_answers_refuses_nothing(world: Rig, status: int) -> None:
    invoice, charged = await charge(world, (CONFIRM, unreadable(status)))
    assert charged.rule == ("A16" if status == 502 else "A18")
    assert charged.saved == "unknown"
    await ends(world, invoice, paid=True)


async def test_a19_a_key_that_cannot_be_read_flags_the_account(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    world.secret_key = "sk_test_\n"
    (charged,) = await world.charge_due()
    assert (charged.rule, charged.saved) == ("A19", "not_sent")
    assert left(world, invoice).attempt == ("not_sent", "credentials_unreadable", "A19")
    assert world.sql("SELECT refused_reason FROM anchorhold.connection") != [(None,)]
    world.secret_key = SECRET_KEY
    await ends(world, invoice, paid=True)


async def test_a_mode_whose_credentials_are_gone_sends_nothing(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    claims = await world.claim_due()
    world.connected = False
    (charged,) = await world.charge_all(claims)
    assert (charged.rule, charged.saved) == ("A19", "not_sent")
    world.connected = True
    await ends(world, invoice, paid=True)


async def test_an_intent_of_another_stripe_account_is_never_confirmed(world: Rig) -> None:
    await world.invoice()
    await world.prepare()
    claims = await world.claim_due()
    world.stripe_account = "acct_other"
    (charged,) = await world.charge_all(claims)
    assert (charged.rule, charged.saved) == ("R1", "not_sent")
    assert not [e for e in world.twin.requests if e.path.endswith("/confirm")]


async def test_an_amount_other_than_the_intents_is_never_confirmed(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    world.sql("UPDATE anchorhold.invoice SET amount_due = amount_due - 1")
    assert await world.charge_due() == []
    assert world.paid_at_stripe() == {}
    assert world.row(invoice)["hold_until"] is None

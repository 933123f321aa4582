"""What a direct attempt left behind decides what "nothing" means."""

from dataclasses import replace
from datetime import timedelta

import pytest

from anchorhold.domain.account import ChargeMode, Modes, SweepMode
from anchorhold.domain.answer import IntentStatus
from anchorhold.domain.attempt import RUNNING, AttemptKind, AttemptState, Cause, reference_of
from anchorhold.domain.intent import METADATA_ATTEMPT, METADATA_FENCE, probe_params
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.sweep import Evidence, HoldFacts, Trace, declined_direct
from anchorhold.domain.timing import Timing
from anchorhold.domain.trace import too_early, trace_of
from tests.domain.test_sweep import AT, FACTS, OWN
from tests.domain.views import intent

TIMING = Timing()
NOTHING = Evidence()
DIRECT = replace(OWN, charge_mode=ChargeMode.DIRECT, intent_id=None)
REFERENCE = reference_of(FACTS.token.scope, FACTS.token.invoice_id, OWN.seq)


def facts(
    state: AttemptState = AttemptState.SENDING, *, hours: float = 1, **changes: object
) -> HoldFacts:
    """A direct attempt that was claimed and sent so long ago."""
    own = replace(DIRECT, state=state)
    made = replace(FACTS, own=own, now=AT + timedelta(hours=hours))
    return replace(made, **changes)  # pyrefly: ignore[bad-argument-type] - the facts' own fields


@pytest.mark.parametrize("state", AttemptState)
def test_a_prepared_attempt_has_its_intent(state: AttemptState) -> None:
    assert trace_of(replace(FACTS, own=replace(OWN, state=state)), NOTHING, TIMING) is Trace.INTENT


def test_so_has_a_close_which_sends_no_charge() -> None:
    own = replace(DIRECT, kind=AttemptKind.CLOSE)
    assert trace_of(replace(FACTS, own=own), NOTHING, TIMING) is Trace.INTENT


def test_the_mark_before_the_send_is_on_the_disk_so_claimed_sent_nothing() -> None:
    assert trace_of(facts(AttemptState.CLAIMED), NOTHING, TIMING) is Trace.UNSENT


@pytest.mark.parametrize("state", sorted(set(AttemptState) - RUNNING))
def test_an_end_that_is_known_is_known(state: AttemptState) -> None:
    assert trace_of(facts(state), NOTHING, TIMING) is Trace.PROVEN


@pytest.mark.parametrize("state", [AttemptState.SENDING, AttemptState.UNKNOWN])
def test_a_key_tells_for_less_than_23_hours(state: AttemptState) -> None:
    assert trace_of(facts(state, hours=22.9), NOTHING, TIMING) is Trace.FENCEABLE
    assert trace_of(facts(state, hours=23), NOTHING, TIMING) is Trace.WAITS


@pytest.mark.parametrize("cause", [Cause.SERVER_ERROR, Cause.KEY_REUSED])
def test_a_key_that_has_said_all_is_not_asked_again(cause: Cause) -> None:
    asked = replace(DIRECT, state=AttemptState.UNKNOWN, cause=cause, rule="S10")
    assert trace_of(facts(own=asked), NOTHING, TIMING) is Trace.WAITS
    answered = replace(asked, rule="A16")
    assert trace_of(facts(own=answered), NOTHING, TIMING) is Trace.FENCEABLE


def test_a_day_counts_from_the_hold_that_the_claim_wrote() -> None:
    """A fence moves the hold; it must not move the end of the wait."""
    state = AttemptState.UNKNOWN
    assert trace_of(facts(state, hours=24), NOTHING, TIMING) is Trace.WAITS
    assert trace_of(facts(state, hours=24.1), NOTHING, TIMING) is Trace.DAY_OVER


def test_without_a_fence_a_lost_result_is_over_and_a_park_waits() -> None:
    adr = {"sweep_mode": SweepMode.ADR}
    assert trace_of(facts(**adr), NOTHING, TIMING) is Trace.LOST
    assert trace_of(facts(AttemptState.UNKNOWN, **adr), NOTHING, TIMING) is Trace.WAITS
    late = facts(AttemptState.UNKNOWN, hours=25, **adr)
    assert trace_of(late, NOTHING, TIMING) is Trace.DAY_OVER


def named(status: IntentStatus, **more: str) -> Evidence:
    made = replace(intent(status), metadata={METADATA_ATTEMPT: REFERENCE, **more})
    return Evidence(intents=(made,))


def test_an_own_intent_that_is_cancelled_takes_no_money() -> None:
    assert trace_of(facts(), named(IntentStatus.CANCELED), TIMING) is Trace.PROVEN


def test_but_what_a_probe_made_is_nobodys_charge() -> None:
    probe = named(IntentStatus.CANCELED, **{METADATA_FENCE: "1"})
    assert trace_of(facts(), probe, TIMING) is Trace.FENCEABLE
    assert declined_direct(facts(), probe.intents) is None


def test_a_direct_hold_is_left_alone_for_ten_minutes_after_its_end() -> None:
    assert too_early(facts(hours=599 / 3600), TIMING)
    assert not too_early(facts(hours=600 / 3600), TIMING)
    assert not too_early(replace(FACTS, now=AT), TIMING)
    assert too_early(replace(FACTS, now=AT, live=True), TIMING)


def test_the_probe_is_the_charge_without_what_could_take_money() -> None:
    charge = {
        "amount": 500, "currency": "eur", "customer": "cus_1", "payment_method": "pm_1",
        "confirm": True, "off_session": True, "metadata": {METADATA_ATTEMPT: "att_1"},
    }  # fmt: skip
    assert probe_params(charge) == {
        "amount": 500, "currency": "eur", "customer": "cus_1", "confirm": False,
        "metadata": {METADATA_ATTEMPT: "att_1", METADATA_FENCE: "1"},
    }  # fmt: skip
    assert probe_params(charge) == probe_params(dict(reversed(charge.items())))


def test_only_an_account_that_charges_directly_can_do_without_the_fence() -> None:
    Modes(ChargeMode.DIRECT, SweepMode.ADR).require_sensible()
    with pytest.raises(Refusal) as refused:
        Modes(ChargeMode.PREPARED, SweepMode.ADR).require_sensible()
    assert refused.value.code is Code.SWEEP_MODE_NEEDS_DIRECT

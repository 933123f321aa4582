"""Which act a hold allows: each cell of protocol section 5."""

import sys

import pytest

from anchorhold.domain.access import ACCESS, Access, Action, access
from anchorhold.domain.hold import HoldState
from tests.domain.tables import rows_without_a_test

UNDER_WAY = (HoldState.LIVE, HoldState.STALE, HoldState.PARKED, HoldState.FOLLOWING)


def cells(action: Action) -> tuple[str, list[Access]]:
    return access(action, HoldState.LIVE)[0].id, [access(action, hold)[1] for hold in UNDER_WAY]


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in ACCESS))


def test_every_act_has_exactly_one_row() -> None:
    assert sorted(row.action for row in ACCESS) == sorted(Action)


@pytest.mark.parametrize("action", Action)
def test_without_a_hold_everything_is_allowed(action: Action) -> None:
    assert access(action, HoldState.NONE)[1] is Access.ALLOWED


@pytest.mark.parametrize("hold", UNDER_WAY)
def test_only_a_write_off_goes_on_while_something_is_under_way(hold: HoldState) -> None:
    free = {Access.ALLOWED, Access.ALLOWED_KEEPING_HOLD}
    allowed = {action for action in Action if access(action, hold)[1] in free}
    assert allowed == ({Action.WRITE_OFF} if hold is not HoldState.LIVE else set())


def test_g1_an_automatic_charge_skips_it() -> None:
    assert cells(Action.AUTO_CHARGE) == ("G1", [Access.SKIPPED] * 4)


def test_g2_a_dunning_retry_skips_it() -> None:
    assert cells(Action.DUNNING_RETRY) == ("G2", [Access.SKIPPED] * 4)


def test_g3_an_operators_collect_is_refused_because_a_payment_is_in_flight() -> None:
    assert cells(Action.COLLECT) == ("G3", [Access.REFUSED] * 4)


def test_g4_the_dunning_scan_skips_it_uncounted() -> None:
    assert cells(Action.DUNNING_SCAN) == ("G4", [Access.SKIPPED] * 4)


def test_g5_the_final_action_skips_it() -> None:
    assert cells(Action.FINAL_ACTION) == ("G5", [Access.SKIPPED] * 4)


def test_g6_a_void_is_refused() -> None:
    assert cells(Action.VOID) == ("G6", [Access.REFUSED] * 4)


def test_g7_a_payment_made_elsewhere_is_refused() -> None:
    assert cells(Action.PAID_ELSEWHERE) == ("G7", [Access.REFUSED] * 4)


def test_g8_a_credit_note_is_refused() -> None:
    assert cells(Action.CREDIT_NOTE) == ("G8", [Access.REFUSED] * 4)


def test_g9_a_write_off_waits_for_a_live_hold_and_leaves_a_stale_one() -> None:
    keeps = Access.ALLOWED_KEEPING_HOLD
    assert cells(Action.WRITE_OFF) == ("G9", [Access.REFUSED, keeps, keeps, Access.ALLOWED])


def test_g10_the_page_asks_not_to_pay_again() -> None:
    assert cells(Action.HOSTED_PAGE) == ("G10", [Access.CONFIRMING] * 4)

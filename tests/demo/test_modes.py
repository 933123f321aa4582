"""The demo in each mode: what the account is told, which times are safe, what is said."""

from pathlib import Path

import pytest

from anchorhold.cli import main
from anchorhold.demo.report import STATED
from anchorhold.demo.scene import KEY_LIFE_S, TIMES, Mode, Scene
from anchorhold.domain.account import ChargeMode, Modes, SweepMode
from anchorhold.domain.timing import DAY_SECONDS, Timing, setting_name


def scene(mode: Mode) -> Scene:
    return Scene(1, 10, 0, 1, Path(), mode=mode)


@pytest.mark.parametrize("mode", Mode)
def test_its_times_are_safe_together(mode: Mode) -> None:
    made = scene(mode)
    names = {setting_name(name): name for name in Timing.__dataclass_fields__}
    times = {names[key]: float(value) for key, value in made.times.items() if key in names}
    assert Timing(**times).check(made.key_life_s) == ()


def test_only_the_direct_modes_make_a_day_short() -> None:
    assert scene(Mode.PREPARED).times == TIMES
    assert scene(Mode.PREPARED).key_life_s == DAY_SECONDS
    assert scene(Mode.ADR).key_life_s == KEY_LIFE_S


def test_the_account_is_made_as_the_mode_says() -> None:
    assert Mode.PREPARED.options == ()
    for mode, sweep in ((Mode.DIRECT, SweepMode.FENCE), (Mode.ADR, SweepMode.ADR)):
        _, charge, _, chosen = mode.options
        Modes(ChargeMode(charge), SweepMode(chosen)).require_sensible()
        assert (charge, chosen) == ("direct", sweep.value)


def test_what_a_mode_cannot_promise_is_said_with_its_result() -> None:
    assert set(STATED) == set(Mode)
    assert STATED[Mode.PREPARED] == ""
    assert "second payment" in STATED[Mode.DIRECT]
    assert "promises less" in STATED[Mode.ADR]


def test_another_mode_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["demo", "--mode", "hosted"]) == 2
    assert "hosted" in capsys.readouterr().err

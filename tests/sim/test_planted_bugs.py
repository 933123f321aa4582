"""Whichever sentence of the protocol somebody drops, a world shows it and the auditor says so."""

from collections.abc import Callable

import pytest

from anchorhold.sim.run import Played
from tests.sim.planted import BUGS, Bug


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_found_and_is_all_that_is_found(
    world: Callable[[int], Played], bug: Bug, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        bug.plant(patch)
        found = next((played for played in map(world, bug.seeds) if played.violations), None)
    assert found is not None, f"no world of {bug.seeds} shows it; other seeds may"
    assert any(said.startswith(bug.found_as) for said in found.violations), found.violations
    assert not world(found.seed).violations, "the world is not sound without the bug either"

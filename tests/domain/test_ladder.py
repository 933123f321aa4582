"""How long until the next look: each rung begins at its age, and the first is never undercut."""

import pytest

from anchorhold.domain.ladder import FIRST_S, LADDER, Rung, wait_s


@pytest.mark.parametrize("rung", LADDER, ids=lambda rung: rung.id)
def test_a_rung_begins_at_its_age(rung: Rung) -> None:
    assert wait_s(rung.after_s) == rung.wait_s
    assert wait_s(rung.after_s + 1) == rung.wait_s


def test_what_was_never_looked_at_waits_the_shortest_time() -> None:
    assert wait_s(-1) == FIRST_S == 60

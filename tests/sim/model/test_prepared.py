"""The prepared mode, all its states: nothing is wrong, and each sentence taken back shows why."""

from dataclasses import replace

import pytest

from anchorhold.sim.model.prepared import SENTENCES, Rule
from anchorhold.sim.model.prepared_ours import model
from anchorhold.sim.model.prepared_runs import LONG, SHORT, TAKEN_BACK, TakenBack
from anchorhold.sim.model.search import search


@pytest.mark.parametrize("name", SHORT)
def test_the_protocol_breaks_nothing(name: str) -> None:
    searched = search(model(Rule(), SHORT[name]))
    assert searched.complete
    assert not searched.found, searched.found


@pytest.mark.parametrize("back", TAKEN_BACK, ids=lambda back: f"{back.finding} {back.sentence}")
def test_a_sentence_taken_back_breaks_what_it_is_there_for(back: TakenBack) -> None:
    searched = search(back.model())
    assert searched.complete
    assert searched.kinds == back.found


def test_every_sentence_is_taken_back_once() -> None:
    assert {back.sentence for back in TAKEN_BACK} == set(SENTENCES)


def test_the_two_payments_of_a_late_commit_have_ten_steps() -> None:
    late = next(back for back in TAKEN_BACK if "M1" in back.found and "M2" not in back.found)
    assert len(search(late.model()).found["M1 two payments"]) == 10


def test_the_long_searches_have_more_of_everything() -> None:
    assert set(LONG).isdisjoint(SHORT)
    assert replace(LONG["charges"], outcomes="SD") != SHORT["charge"]

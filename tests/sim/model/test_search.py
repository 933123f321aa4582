"""The search sees every state, tells the shortest way, and knows what has no way out."""

from collections.abc import Iterator

from anchorhold.sim.model.search import Model, Step, search


def counting(s: int) -> Iterator[Step[int]]:
    """From 0 to 5 by ones or twos; only somebody else leads from 4 to 5."""
    if s < 4:
        yield Step("one", s + 1)
    if s < 3:
        yield Step("two", s + 2)
    if s == 4:
        yield Step("a stranger", 5, helps=False)


def nothing(_: int) -> Iterator[str]:
    yield from ()


def test_every_state_is_seen_and_a_violation_has_its_shortest_way() -> None:
    odd = Model(0, counting, lambda s: ["B three"] if s == 3 else [], nothing)
    found = search(odd)
    assert (found.states, found.complete, found.kinds) == (6, True, {"B"})
    assert len(found.found["B three"]) == 2


def test_what_only_a_stranger_ends_has_no_way_out() -> None:
    small = Model(0, counting, nothing, lambda s: ["L below five"] if s < 5 else [])
    assert search(small).kinds == {"L"}
    lower = Model(0, counting, nothing, lambda s: ["L below four"] if s < 4 else [])
    assert not search(lower).found


def test_a_step_can_be_a_violation_itself() -> None:
    def steps(s: int) -> Iterator[Step[int]]:
        for step in counting(s):
            yield step._replace(broken="I too far") if step.label == "two" else step

    assert search(Model(0, steps, nothing, nothing)).found["I too far"] == ("two",)


def test_a_search_that_was_cut_says_so_and_judges_no_way_out() -> None:
    cut = search(Model(0, counting, nothing, lambda _: ["L always"]), limit=2)
    assert not cut.complete
    assert not cut.found

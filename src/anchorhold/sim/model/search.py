"""Breadth first through every state of a model, with the shortest way to each violation."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final, Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=Hashable)

LIMIT: Final = 3_000_000


class Step(NamedTuple, Generic[S]):
    """One step of a model: what happens, the state after it, and whether the system does it.

    Crashes, claims, customers and operators do not count as help: nobody may rely on them.
    """

    label: str
    state: S
    helps: bool = True
    broken: str = ""
    """A violation that the step itself is, whatever the state after it."""


@dataclass(frozen=True, slots=True)
class Model(Generic[S]):
    """What is searched. `broken`: violations in a state. `stuck`: what must become false.

    Each name of `stuck` is a violation only where no chain of helping steps leads to a state
    without it.
    """

    initial: S
    steps: Callable[[S], Iterable[Step[S]]]
    broken: Callable[[S], Iterable[str]]
    stuck: Callable[[S], Iterable[str]]


@dataclass(slots=True)
class Searched(Generic[S]):
    """What a search found; `complete` says whether it saw every state."""

    states: int = 0
    complete: bool = True
    seconds: float = 0
    found: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Each violation with the labels of a shortest way to it."""

    @property
    def kinds(self) -> frozenset[str]:
        """The names of the violations without their details: the first word of each."""
        return frozenset(name.split()[0] for name in self.found)


class _Seen(Generic[S]):
    """The states seen, by number, and where each came from."""

    def __init__(self, first: S) -> None:
        self.states = [first]
        self.numbers = {first: 0}
        self.parents = [-1]
        self.labels = [""]

    def add(self, step: Step[S], parent: int) -> tuple[int, bool]:
        number = self.numbers.get(step.state)
        if number is not None:
            return number, False
        self.numbers[step.state] = number = len(self.states)
        self.states.append(step.state)
        self.parents.append(parent)
        self.labels.append(step.label)
        return number, True

    def way(self, number: int) -> tuple[str, ...]:
        labels: list[str] = []
        while self.parents[number] >= 0:
            labels.append(self.labels[number])
            number = self.parents[number]
        return tuple(reversed(labels))


def search(model: Model[S], *, limit: int = LIMIT, until_s: float | None = None) -> Searched[S]:
    """Every state that can be reached, or the first `limit` of them, and what is wrong there."""
    began, seen, result = perf_counter(), _Seen(model.initial), Searched[S]()
    helps: list[tuple[int, int]] = []
    todo = deque([0])
    while todo:
        number = todo.popleft()
        todo.extend(_reached(model, seen, number, helps, result.found))
        if _enough(seen, limit, began, until_s):
            result.complete = False
            break
    if result.complete:
        for name, number in _stuck(model, seen.states, helps):
            result.found.setdefault(name, seen.way(number))
    result.states, result.seconds = len(seen.states), perf_counter() - began
    return result


def _reached(
    model: Model[S],
    seen: _Seen[S],
    number: int,
    helps: list[tuple[int, int]],
    found: dict[str, tuple[str, ...]],
) -> Iterator[int]:
    """The new states that one step leads to; violations on the way go to `found`."""
    for step in model.steps(seen.states[number]):
        reached, new = seen.add(step, number)
        if step.broken:
            found.setdefault(step.broken, (*seen.way(number), step.label))
        if step.helps and reached != number:
            helps.append((number, reached))
        if new:
            for name in model.broken(step.state):
                found.setdefault(name, seen.way(reached))
            yield reached


def _enough(seen: _Seen[S], limit: int, began: float, until_s: float | None) -> bool:
    late = until_s is not None and perf_counter() - began > until_s
    return late or len(seen.states) > limit


def _stuck(
    model: Model[S], states: list[S], helps: list[tuple[int, int]]
) -> Iterator[tuple[str, int]]:
    """Each violation with the first state from which no chain of helping steps leads out."""
    back: dict[int, list[int]] = {}
    for source, target in helps:
        back.setdefault(target, []).append(source)
    bad: dict[str, set[int]] = {}
    for number, state in enumerate(states):
        for name in model.stuck(state):
            bad.setdefault(name, set()).add(number)
    for name, where in bad.items():
        lost = where - _leading(back, set(range(len(states))) - where)
        if lost:
            yield name, min(lost)


def _leading(back: dict[int, list[int]], good: set[int]) -> set[int]:
    """Every state from which helping steps lead to one of these."""
    todo = deque(good)
    while todo:
        for source in back.get(todo.popleft(), ()):
            if source not in good:
                good.add(source)
                todo.append(source)
    return good

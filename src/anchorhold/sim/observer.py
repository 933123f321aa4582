"""Watches the rows of one world, statement by statement: each change is a move of the model."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from anchorhold.sim.model import rows as r
from anchorhold.sim.model.refinement import explained
from anchorhold.sim.model.rows import NOBODY, Attempt, Rows
from anchorhold.sim.statements import statement
from anchorhold.sim.world import World


@dataclass(frozen=True, slots=True)
class _Invoice:
    """One invoice as it was read; the age of its hold is told by the clock."""

    rows: Rows
    hold_until: float | None

    def at(self, now: float) -> Rows:
        """What the model sees of it at this time."""
        if self.hold_until is None:
            return self.rows
        return self.rows._replace(hold=r.LIVE if self.hold_until > now else r.ENDED)


@dataclass(slots=True)
class Observer:
    """One world's; what no move explains is in `violations`, with the statement in front."""

    world: World
    violations: list[str] = field(default_factory=list)
    moves: set[str] = field(default_factory=set)
    """The moves that were seen."""
    _seen: dict[str, _Invoice] = field(default_factory=dict)
    _numbers: dict[str, dict[str, int]] = field(default_factory=dict)
    """Each invoice's intents, numbered as they are seen."""

    def look(self, step: str = "") -> None:
        """After a statement of this name: what changed is explained, or it is a violation."""
        now = self.world.clock()
        for id_, invoice in self._read():
            before = self._seen.get(id_)
            self._seen[id_] = invoice
            if before is not None:
                self._explain(step, before.at(now), invoice.at(now))

    def _explain(self, step: str, before: Rows, after: Rows) -> None:
        move = explained(before, after)
        if move is None:
            self._found(f"{step}: no move of the model: {_told(before, after)}")
        elif move:
            self.moves.add(move)

    def _found(self, violation: str) -> None:
        if violation not in self.violations:
            self.violations.append(violation)
            self.world.tell("MODEL", violation)

    def _read(self) -> Iterable[tuple[str, _Invoice]]:
        for row in self.world.db.execute(statement("refined"), self.world.scope.params):
            yield row[0], self._invoice(row)

    def _invoice(self, row: tuple[Any, ...]) -> _Invoice:
        id_, status, payment, hold_until, holder, seq, intent, followed, attempts, paid = row
        number = self._numbers.setdefault(id_, {})
        made = [_attempt(one, number) for one in _list(attempts)]
        ids = [one[0] for one in _list(attempts)]
        rows = Rows(
            status,
            payment,
            r.FREE,
            ids.index(holder) if holder else NOBODY,
            seq,
            _numbered(number, intent),
            _numbered(number, followed),
            tuple(made),
            frozenset(_numbered(number, one) for one in _list(paid)),
        )
        return _Invoice(rows, hold_until.timestamp() if hold_until else None)


def observe(world: World) -> Observer:
    """The world's observer, which is told of each statement from now on."""
    observer = Observer(world)
    world.db.seen = observer.look
    return observer


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else json.loads(value)


def _attempt(row: list[Any], number: dict[str, int]) -> Attempt:
    _, kind, state, seq, found, intent = row
    return Attempt(kind, state, seq, found, _numbered(number, intent))


def _numbered(number: dict[str, int], intent: str | None) -> int:
    return number.setdefault(intent, len(number) + 1) if intent else 0


def _told(before: Rows, after: Rows) -> str:
    """What is different, field by field."""
    parts = []
    for name, old, new in zip(Rows._fields, before, after, strict=True):
        if old == new:
            continue
        if name == "attempts":
            states = [one.state for one in before.attempts], [one.state for one in after.attempts]
            parts.append(f"attempts {'/'.join(states[0])} -> {'/'.join(states[1])}")
        else:
            parts.append(f"{name} {_plain(old)} -> {_plain(new)}")
    return ", ".join(parts)


def _plain(value: object) -> str:
    return str(sorted(value)) if isinstance(value, frozenset) else str(value)

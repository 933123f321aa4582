"""Planting a bug: a piece of the program is exchanged for a while, and put back."""

import dataclasses
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from anchorhold.domain.outcome import ENDS, Meaning
from anchorhold.sim.db import WorldDb


class Patch:
    """What was exchanged, to be put back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """The attribute is this one for now."""
        before = vars(owner)[name]
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before))

    def item(self, owner: dict[Any, Any], key: Any, value: Any) -> None:
        """The entry is this one for now."""
        before = owner[key]
        owner[key] = value
        self._undo.append(lambda: owner.__setitem__(key, before))

    def undo(self) -> None:
        """Everything is as it was."""
        while self._undo:
            self._undo.pop()()


Plant = Callable[[Patch], None]


@contextmanager
def planted(plant: Plant) -> Generator[None]:
    """The bug is in the program meanwhile."""
    patch = Patch()
    try:
        plant(patch)
        yield
    finally:
        patch.undo()


def without(*pairs: tuple[str, str], where: str = "") -> Plant:
    """The store's statements with these words exchanged; `where` names the ones it is about."""

    def plant(patch: Patch) -> None:
        real = WorldDb.edited

        def edited(query: bytes) -> bytes:
            text = real(query).decode()
            if where in text:
                for old, new in pairs:
                    text = text.replace(old, new)
            return text.encode()

        patch.attribute(WorldDb, "edited", staticmethod(edited))

    return plant


def ends(meaning: Meaning, **changes: Any) -> Plant:
    """Another end for a meaning."""
    return lambda patch: patch.item(ENDS, meaning, dataclasses.replace(ENDS[meaning], **changes))


def row(table: Any, name: str, id_: str, **changes: Any) -> Plant:
    """Other words in the rows of a table that have this id."""

    def plant(patch: Patch) -> None:
        rows = tuple(
            dataclasses.replace(one, **changes) if one.id == id_ else one
            for one in getattr(table, name)
        )
        patch.attribute(table, name, rows)

    return plant


def dropped(table: Any, name: str, *ids: str) -> Plant:
    """A table without the rows of these ids."""
    return lambda patch: patch.attribute(
        table, name, tuple(one for one in getattr(table, name) if one.id not in ids)
    )


def exchanged(owner: Any, name: str, make: Callable[[Any], Any]) -> Plant:
    """What `make` makes of a function stands in its place."""
    return lambda patch: patch.attribute(owner, name, make(getattr(owner, name)))


def both(*plants: Plant) -> Plant:
    """Several at once: one sentence that stands in more than one place."""

    def plant(patch: Patch) -> None:
        for one in plants:
            one(patch)

    return plant

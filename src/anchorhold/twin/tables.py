"""The twin's storage: objects by id in order of creation, with a few indexes.

Objects are replaced, never changed in place, so everything that kept a reference keeps a snapshot.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence

from anchorhold.twin.wire import Obj


class Table:
    """Objects of one kind. `indexed` names the fields that lists filter by."""

    def __init__(self, noun: str, *indexed: str) -> None:
        self.noun = noun
        self._objects: dict[str, Obj] = {}
        self._order: list[str] = []
        self._place: dict[str, int] = {}
        self._index: dict[str, dict[str, list[int]]] = {name: {} for name in indexed}

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Obj]:
        """Every object, oldest first."""
        return (self._objects[name] for name in self._order)

    def get(self, id_: str) -> Obj | None:
        """The object as it is now."""
        return self._objects.get(id_)

    def put(self, obj: Obj) -> Obj:
        """Store a new object, or the next state of one that is here; returns it."""
        id_ = obj["id"]
        old = self._objects.get(id_)
        if old is None:
            self._place[id_] = len(self._order)
            self._order.append(id_)
        self._objects[id_] = obj
        for field, by_value in self._index.items():
            before, after = (old or {}).get(field), obj.get(field)
            if before != after:
                self._move(by_value, before, after, self._place[id_])
        return obj

    def _move(
        self, by_value: dict[str, list[int]], before: str | None, after: str | None, place: int
    ) -> None:
        if before is not None:
            by_value[before].remove(place)
        if after is not None:
            insort(by_value.setdefault(after, []), place)

    def count(self, field: str, value: str) -> int:
        """How many objects have this value in an indexed field."""
        return len(self._index[field].get(value, ()))

    def where(self, field: str, value: str) -> list[Obj]:
        """The objects with this value in an indexed field, oldest first."""
        return [self._at(place) for place in self._index[field].get(value, ())]

    def newest_first(
        self, field: str | None = None, value: str | None = None, before: str | None = None
    ) -> Iterator[Obj]:
        """Objects from new to old; of one indexed value if given; only older ones than `before`."""
        places = self._places(field, value)
        end = len(places) if before is None else bisect_left(places, self._place[before])
        return (self._at(places[spot]) for spot in range(end - 1, -1, -1))

    def oldest_first(
        self, after: str, field: str | None = None, value: str | None = None
    ) -> Iterator[Obj]:
        """Objects newer than `after`, from old to new; of one indexed value if given."""
        places = self._places(field, value)
        start = bisect_right(places, self._place[after])
        return (self._at(places[spot]) for spot in range(start, len(places)))

    def _places(self, field: str | None, value: str | None) -> Sequence[int]:
        if field is None or value is None:
            return range(len(self._order))
        return self._index[field].get(value, [])

    def _at(self, place: int) -> Obj:
        return self._objects[self._order[place]]

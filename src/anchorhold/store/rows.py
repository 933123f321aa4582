"""Rows as frozen dataclasses: each column becomes the field's own type, enums included."""

import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def row_maker(shape: type[T], names: Sequence[str]) -> Callable[[Sequence[Any]], T]:
    """A function from a row's values to `shape`; the columns must be its fields, in any order.

    A shape that is no dataclass takes the only column. Raises TypeError when columns and fields
    differ, so that a query and its shape cannot drift apart.
    """
    if not hasattr(shape, "__dataclass_fields__"):
        convert = _converter(shape)
        return lambda values: convert(values[0])
    return _maker(shape, tuple(names))


@cache
def _maker(shape: type[T], names: tuple[str, ...]) -> Callable[[Sequence[Any]], T]:
    wanted = {field.name for field in fields(typing.cast("Any", shape))}
    if wanted != set(names):
        raise TypeError(f"{shape.__name__} has {sorted(wanted)}, the row has {sorted(names)}")
    hints = typing.get_type_hints(shape)
    converters = [_converter(hints[name]) for name in names]

    def make(values: Sequence[Any]) -> T:
        pairs = zip(names, converters, values, strict=True)
        return shape(**{name: convert(value) for name, convert, value in pairs})

    return make


def _converter(hint: Any) -> Callable[[Any], Any]:
    if isinstance(hint, types.UnionType):
        inner = next((part for part in hint.__args__ if _is_special(part)), None)
        if inner is None:
            return _same
        convert = _converter(inner)
        return lambda value: None if value is None else convert(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if typing.get_origin(hint) is tuple:
        return tuple
    return _same


def _is_special(part: Any) -> bool:
    is_enum = isinstance(part, type) and issubclass(part, Enum)
    return is_enum or typing.get_origin(part) is tuple


def _same(value: Any) -> Any:
    return value

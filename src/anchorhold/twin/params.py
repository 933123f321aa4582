"""What an endpoint takes, as literal tables, and the refusals for everything else.

A table maps each parameter name to a `Param`; reading a form gives typed values. What is not in
the table is refused. An empty string unsets a value where Stripe lets it be unset.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from anchorhold.twin.currencies import SUPPORTED
from anchorhold.twin.errors import invalid, not_simulated, unknown_parameter
from anchorhold.twin.form import Tree

Raw = str | Tree


class Param(Protocol):
    """Reads one parameter from its form value."""

    def read(self, name: str, raw: Raw) -> Any:
        """The typed value; raises a 400 that names the parameter as `name`."""
        ...


Table = Mapping[str, Param]


def read_fields(table: Table, required: tuple[str, ...], form: Tree, prefix: str) -> dict[str, Any]:
    """The form's typed values, by name; `prefix` is the parameter that they are inside of, or "".

    400 on an unknown, missing or malformed parameter.
    """
    values: dict[str, Any] = {}
    for name, raw in form.items():
        full = f"{prefix}[{name}]" if prefix else name
        param = table.get(name)
        if param is None:
            raise unknown_parameter(full)
        values[name] = param.read(full, raw)
    for name in required:
        if name not in values:
            full = f"{prefix}[{name}]" if prefix else name
            raise invalid(f"Missing required param: {full}.", code="parameter_missing", param=full)
    return values


def _leaf(name: str, raw: Raw, kind: str) -> str:
    if isinstance(raw, dict):
        raise invalid(f"Invalid {kind}: {name} must not be a hash", param=name)
    return raw


def _refuse_empty(name: str) -> Exception:
    return invalid(
        f"You passed an empty string for '{name}'. We assume empty values are an attempt to unset "
        f"a parameter; however '{name}' cannot be unset. You should remove '{name}' from your "
        "request or supply a non-empty value.",
        code="parameter_invalid_empty",
        param=name,
    )


@dataclass(frozen=True, slots=True)
class Str:
    """Text of at most `max` characters; `clear` lets an empty string unset it (None)."""

    max: int = 5000
    clear: bool = False

    def read(self, name: str, raw: Raw) -> str | None:
        """The text."""
        text = _leaf(name, raw, "string")
        if text == "":
            if self.clear:
                return None
            raise _refuse_empty(name)
        if len(text) > self.max:
            raise invalid(
                f"Invalid string: {text[:10]}…{text[-4:]}; must be at most {self.max} characters",
                param=name,
            )
        return text


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number between `low` and `high`."""

    low: int = 0
    high: int = 2**53

    def read(self, name: str, raw: Raw) -> int:
        """The number."""
        text = _leaf(name, raw, "integer")
        if text == "":
            raise _refuse_empty(name)
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise invalid(f"Invalid integer: {text}", code="parameter_invalid_integer", param=name)
        return self._bounded(name, int(text))

    def _bounded(self, name: str, value: int) -> int:
        bound = None
        if value < self.low:
            bound = f"greater than or equal to {self.low}"
        elif value > self.high:
            bound = f"less than or equal to {self.high}"
        if bound is not None:
            message = f"This value must be {bound}."
            raise invalid(message, code="parameter_invalid_integer", param=name)
        return value


@dataclass(frozen=True, slots=True)
class Bool:
    """`true` or `false`."""

    def read(self, name: str, raw: Raw) -> bool:
        """The truth value."""
        text = _leaf(name, raw, "boolean")
        if text not in {"true", "false"}:
            raise invalid(f"Invalid boolean: {text}", param=name)
        return text == "true"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One word of a closed set; `clear` lets an empty string unset it."""

    words: tuple[str, ...]
    clear: bool = False

    def read(self, name: str, raw: Raw) -> str | None:
        """The word."""
        text = _leaf(name, raw, "value")
        if text == "" and self.clear:
            return None
        if text not in self.words:
            choices = ", ".join(self.words[:-1]) + (", or " if len(self.words) > 1 else "")
            raise invalid(f"Invalid {name}: must be one of {choices}{self.words[-1]}", param=name)
        return text


@dataclass(frozen=True, slots=True)
class OffSession:
    """`true`, `false`, `one_off` or `recurring`; anything but `false` means off session."""

    def read(self, name: str, raw: Raw) -> bool:
        """Whether the customer is away."""
        return OneOf(("true", "false", "one_off", "recurring")).read(name, raw) != "false"


@dataclass(frozen=True, slots=True)
class CurrencyCode:
    """A three-letter currency that Stripe supports, returned in lower case."""

    def read(self, name: str, raw: Raw) -> str:
        """The code."""
        text = _leaf(name, raw, "currency").lower()
        if text not in SUPPORTED:
            names = ", ".join(sorted(SUPPORTED))
            raise invalid(
                f"Invalid currency: {text}. Stripe currently supports these currencies: {names}",
                param=name,
            )
        return text


@dataclass(frozen=True, slots=True)
class ListOf:
    """Items in order, from `a[]=` or `a[0]=`."""

    item: Param = field(default_factory=Str)
    most: int = 100

    def read(self, name: str, raw: Raw) -> list[Any]:
        """The items."""
        if not isinstance(raw, dict) or not all(key.isdigit() for key in raw):
            raise invalid("Invalid array", param=name)
        if len(raw) > self.most:
            raise invalid(f"Array must have at most {self.most} elements", param=name)
        return [self.item.read(f"{name}[{key}]", value) for key, value in raw.items()]


@dataclass(frozen=True, slots=True)
class Hash:
    """Named values inside one parameter; `clear` lets an empty string unset the whole."""

    table: Table
    required: tuple[str, ...] = ()
    clear: bool = False

    def read(self, name: str, raw: Raw) -> dict[str, Any] | None:
        """The values by name."""
        if isinstance(raw, dict):
            return read_fields(self.table, self.required, raw, name)
        if raw == "" and self.clear:
            return None
        raise invalid("Invalid object", param=name)


@dataclass(frozen=True, slots=True)
class Metadata:
    """Pairs of text; 50 pairs, keys of 40 characters without brackets, values of 500.

    Source: https://docs.stripe.com/metadata. An empty string for the whole is None: remove all;
    an empty value removes its key.
    """

    def read(self, name: str, raw: Raw) -> dict[str, str] | None:
        """The pairs as sent."""
        if not isinstance(raw, dict):
            if raw == "":
                return None
            raise invalid("Invalid object", param=name)
        return {key: self._value(name, key, value) for key, value in raw.items()}

    def _value(self, name: str, key: str, value: Raw) -> str:
        if isinstance(value, dict):
            raise invalid(f"Invalid string: {name}[{key}] is a hash", param=f"{name}[{key}]")
        if len(key) > 40:
            raise invalid(
                f"Metadata keys can have up to 40 characters, but you passed in a key that is "
                f"{len(key)} characters. Invalid key: {key}",
                param=name,
            )
        if len(value) > 500:
            raise invalid(
                f"Metadata values can have up to 500 characters, but you passed in a value that "
                f"is {len(value)} characters. Invalid value: {value[:40]}…",
                param=name,
            )
        return value


@dataclass(frozen=True, slots=True)
class Range:
    """A time filter: one exact second, or `gt`, `gte`, `lt`, `lte`."""

    def read(self, name: str, raw: Raw) -> dict[str, int]:
        """The bounds by name; an exact second is both `gte` and `lte`."""
        if isinstance(raw, dict):
            table = dict.fromkeys(("gt", "gte", "lt", "lte"), Int())
            return read_fields(table, (), raw, name)
        exact = Int().read(name, raw)
        return {"gte": exact, "lte": exact}


@dataclass(frozen=True, slots=True)
class Opaque:
    """Anything: taken, and without effect in the twin."""

    def read(self, name: str, raw: Raw) -> Raw:
        """The value as decoded."""
        return raw


@dataclass(frozen=True, slots=True)
class NotSimulated:
    """A parameter that Stripe has and the twin has not."""

    def read(self, name: str, raw: Raw) -> Raw:
        """Always refused."""
        raise not_simulated(name)


def merged_metadata(old: dict[str, str], new: dict[str, str] | None) -> dict[str, str]:
    """Metadata after an update: keys are merged, an empty value removes, None removes all."""
    if new is None:
        return {}
    merged = {key: value for key, value in {**old, **new}.items() if value != ""}
    if len(merged) > 50:
        raise invalid("You cannot have more than 50 metadata keys on one object.", param="metadata")
    return merged

"""Parameters that an API version brought or took away.

Source: https://docs.stripe.com/changelog. What a request may carry is decided by its version; what
it gets is always in the newest shape.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anchorhold.twin.errors import invalid
from anchorhold.twin.form import Tree
from anchorhold.twin.params import Param, Raw, Table, read_fields


@dataclass(frozen=True, slots=True)
class Since:
    """A parameter that came with an API version, a date: unknown to every older one."""

    date: str
    param: Param

    def at(self, version: str) -> Param | None:
        """How this version reads it; None when it does not know it."""
        return self.param if version[:10] >= self.date else None


@dataclass(frozen=True, slots=True)
class Until:
    """A parameter that an API version, a date, took away.

    `preview` is the first preview version without it, if that was another. With a `code` it is
    refused from then on by that code, else it is unknown.
    """

    date: str
    param: Param
    preview: str | None = None
    code: str | None = None

    def at(self, version: str) -> Param | None:
        """How this version reads it; None when it does not know it."""
        date = self.preview if self.preview and ".preview" in version else self.date
        if version[:10] < date:
            return self.param
        return None if self.code is None else _Gone(self.code)


@dataclass(frozen=True, slots=True)
class _Gone:
    code: str

    def read(self, name: str, raw: Raw) -> Raw:
        """Always refused."""
        raise invalid(
            f"The `{name}` parameter is no longer supported in this API version.",
            code=self.code,
            param=name,
        )


Dated = Param | Since | Until
DatedTable = Mapping[str, Dated]


def read_form(
    table: DatedTable, required: tuple[str, ...], form: Tree, version: str
) -> dict[str, Any]:
    """The form's typed values, by name, as an API version such as `2026-10-28.endive` reads it.

    400 on an unknown, missing or malformed parameter.
    """
    return read_fields(_of_version(table, form, version), required, form, "")


def known(table: DatedTable, version: str) -> set[str]:
    """The names that a request of this API version may carry."""
    read = _of_version(table, table, version)
    return {name for name, param in read.items() if not isinstance(param, _Gone)}


def _of_version(table: DatedTable, names: Iterable[str], version: str) -> Table:
    found: dict[str, Param] = {}
    for name in names:
        dated = table.get(name)
        param = dated.at(version) if isinstance(dated, Since | Until) else dated
        if param is not None:
            found[name] = param
    return found

"""Pages: newest first, `limit` 1 to 100, `starting_after`, `ending_before`, `created`.

Source: https://docs.stripe.com/api/pagination.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from anchorhold.twin.errors import invalid, missing
from anchorhold.twin.params import Int, ListOf, Param, Range, Str
from anchorhold.twin.tables import Table
from anchorhold.twin.wire import Obj

PAGING: dict[str, Param] = {
    "limit": Int(1, 100),
    "starting_after": Str(),
    "ending_before": Str(),
    "expand": ListOf(),
}
DATED: dict[str, Param] = {**PAGING, "created": Range()}

Keep = Callable[[Obj], bool]


def page(
    table: Table,
    params: dict[str, Any],
    url: str,
    *,
    of: tuple[str, str] | None = None,
    keep: Keep | None = None,
) -> Obj:
    """One page as a list object. `of` picks one value of an indexed field, `keep` filters on."""
    field, value = of or (None, None)
    limit = params.get("limit", 10)
    after, before = _cursors(table, params)
    rows = (
        table.newest_first(field, value, after)
        if before is None
        else table.oldest_first(before, field, value)
    )
    found = list(islice(_kept(rows, params.get("created"), keep), limit + 1))
    data = found[:limit]
    if before is not None:
        data.reverse()
    return {"object": "list", "data": data, "has_more": len(found) > limit, "url": url}


def page_of_charge(table: Table, params: dict[str, Any], url: str) -> Obj:
    """One page of what belongs to charges: all, or that of one `charge`, `payment_intent` or both.

    The first of them that is given is looked up in its index.
    """
    intent = params.get("payment_intent")
    given = [(field, params[field]) for field in ("charge", "payment_intent") if field in params]

    def keep(row: Obj) -> bool:
        return intent is None or row["payment_intent"] == intent

    return page(table, params, url, of=given[0] if given else None, keep=keep)


def empty(url: str) -> Obj:
    """A list object without items."""
    return {"object": "list", "data": [], "has_more": False, "url": url}


def _cursors(table: Table, params: dict[str, Any]) -> tuple[str | None, str | None]:
    after, before = params.get("starting_after"), params.get("ending_before")
    if after is not None and before is not None:
        raise invalid(
            "Received both `starting_after` and `ending_before`: a page has only one of them.",
            param="ending_before",
        )
    for param, cursor in (("starting_after", after), ("ending_before", before)):
        if cursor is not None and table.get(cursor) is None:
            raise missing(table.noun, cursor, param, status=400)
    return after, before


def _kept(rows: Iterator[Obj], created: dict[str, int] | None, keep: Keep | None) -> Iterator[Obj]:
    if keep is not None:
        rows = filter(keep, rows)
    if created is not None:
        rows = (row for row in rows if _within(row["created"], created))
    return rows


def _within(second: int, bounds: dict[str, int]) -> bool:
    return (
        second > bounds.get("gt", -1)
        and second >= bounds.get("gte", 0)
        and second < bounds.get("lt", 2**60)
        and second <= bounds.get("lte", 2**60)
    )

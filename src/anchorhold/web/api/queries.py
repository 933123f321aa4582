"""What a list can be asked for."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")

LIMIT = 10


class Strict(BaseModel):
    """Fields of a request: one that is not known is refused, and nothing is guessed."""

    model_config = ConfigDict(extra="forbid", populate_by_name=False, strict=False)


class Expanding(Strict):
    """What may be shown within an object."""

    expand: list[str] = Field(default_factory=list[str], alias="expand[]", max_length=10)


class Page(Expanding):
    """Which page of a list."""

    limit: int = Field(default=LIMIT, ge=1, le=100, description="Rows on a page.")
    starting_after: str | None = Field(
        default=None, max_length=64, description="The page behind this row."
    )


Read = Annotated[Expanding, Query()]
Listed = Annotated[Page, Query()]

Fetch = Callable[[str | None, int], Awaitable[Sequence[T]]]


async def page_of(query: Page, fetch: Fetch[T]) -> tuple[list[T], bool]:
    """The rows of the page, newest first, and whether there are more behind them."""
    rows = list(await fetch(query.starting_after, query.limit + 1))
    return rows[: query.limit], len(rows) > query.limit

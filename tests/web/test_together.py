"""Deliveries that are committed together: each is answered as if it had come alone."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import psycopg
import pytest

from anchorhold.domain.event_delivery import Verdict
from anchorhold.domain.ids import EVENT_DELIVERY, SigningSecretId
from anchorhold.store.event_deliveries import Delivery, Taking
from anchorhold.web.together import AT_ONCE, Together
from tests.store import news
from tests.store.scene import Scene, scene


class Counting:
    """A `Db` that counts statements, and breaks where a test says."""

    def __init__(self, inner: Any, breaks: BaseException | None = None) -> None:
        self.inner = inner
        self.sent = 0
        self.breaks = breaks

    async def all(self, *args: Any, **params: Any) -> Any:
        self.sent += 1
        if self.breaks is not None:
            raise self.breaks
        return await self.inner.all(*args, **params)


def a(made: Scene, number: int, **changed: Any) -> Taking:
    """A delivery of the event of this number."""
    event = replace(news.event_of(number), **changed)
    (new,) = made.db.new_ids(EVENT_DELIVERY, 1)
    delivery = Delivery(new, "valid", 9, "::1", SigningSecretId("sgn_1"), 0, event.id, event.type)
    return Taking(delivery, event, kept=True)


async def keeps(together: Together, made: Scene, *taking: Taking) -> list[Any]:
    """All at once; what each was told."""
    return await asyncio.gather(
        *(together.keep(made.scope, "acct_1", one) for one in taking), return_exceptions=True
    )


def rows(made: Scene) -> tuple[int, int]:
    """How many deliveries and events there are."""
    return (made.value("SELECT count(*) FROM anchorhold.event_delivery"),
            made.value("SELECT count(*) FROM anchorhold.event"))  # fmt: skip


async def test_what_comes_at_once_is_one_commit_and_one_of_each_event_is_good(
    database: str,
) -> None:
    async with scene(database) as made:
        db = Counting(made.db)
        together = Together(cast("Any", db))
        said = await keeps(together, made, *(a(made, n % 4) for n in range(40)))
        assert (said.count(Verdict.GOOD), said.count(Verdict.REPEAT)) == (4, 36)
        assert (rows(made), db.sent) == ((40, 4), 1)


async def test_more_than_fits_goes_in_turns_and_none_is_forgotten(database: str) -> None:
    async with scene(database) as made:
        together = Together(made.db)
        said = await keeps(together, made, *(a(made, n) for n in range(3 * AT_ONCE + 1)))
        assert set(said) == {Verdict.GOOD}
        assert await keeps(together, made, a(made, 0)) == [Verdict.REPEAT]
        assert rows(made) == (3 * AT_ONCE + 2, 3 * AT_ONCE + 1)


async def test_a_row_that_cannot_be_kept_takes_no_other_with_it(database: str) -> None:
    async with scene(database) as made:
        wrong = a(made, 2, summary={"reason": "\x00"})
        said = await keeps(Together(made.db), made, a(made, 1), wrong, a(made, 3))
        assert (said[0], said[2]) == (Verdict.GOOD, Verdict.GOOD)
        assert isinstance(said[1], psycopg.DataError)
        assert rows(made) == (2, 2)


@pytest.mark.parametrize("error", [psycopg.OperationalError("gone"), ArithmeticError("a bug")])
async def test_everybody_hears_why_nothing_was_kept_and_the_next_begins_anew(
    error: Exception, database: str
) -> None:
    async with scene(database) as made:
        db = Counting(made.db, error)
        together = Together(cast("Any", db))
        assert await keeps(together, made, a(made, 1), a(made, 2)) == [error, error]
        db.breaks = None
        assert await keeps(together, made, a(made, 1)) == [Verdict.GOOD]

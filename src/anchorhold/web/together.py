"""Deliveries that come in at the same moment are committed together, and answered after that.

Stripe may send thousands a second, and each commit waits for the disk. What comes while a commit is
under way goes into the next; a delivery that comes alone waits for nobody.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

import psycopg

from anchorhold.domain.event_delivery import Verdict
from anchorhold.domain.scope import Scope
from anchorhold.store import event_deliveries
from anchorhold.store.db import Db
from anchorhold.store.event_deliveries import Taking

AT_ONCE: Final = 100
"""So many go into one commit at the most."""
COMMITS: Final = 3
"""So many are under way at once, so that neither the database nor this process waits idly."""

Whose = tuple[Scope, str]
Waiting = tuple[Taking, asyncio.Future[Verdict]]


class Together:
    """`Keep` for one process."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self._waiting: defaultdict[Whose, list[Waiting]] = defaultdict(list)
        self._writers: Counter[Whose] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    async def keep(self, scope: Scope, stripe_account: str, taking: Taking) -> Verdict:
        """The delivery is committed; raises what kept it from being so."""
        whose = (scope, stripe_account)
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting[whose].append((taking, future))
        if self._writers[whose] < COMMITS:
            self._writers[whose] += 1
            task = asyncio.create_task(self._write(whose))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _write(self, whose: Whose) -> None:
        """Batch after batch until nothing waits; from that moment on the next comer begins anew."""
        try:
            await asyncio.sleep(0)  # what has come in this very moment goes along
            while waiting := self._waiting.pop(whose, []):
                self._waiting[whose] = waiting[AT_ONCE:]
                await self._commit(whose, waiting[:AT_ONCE])
        finally:
            self._writers[whose] -= 1

    async def _commit(self, whose: Whose, batch: Sequence[Waiting]) -> None:
        """All of it is committed, or none is and everybody hears why.

        A row that PostgreSQL cannot hold takes no other with it: then each goes alone.
        """
        try:
            verdicts = await event_deliveries.take_in(self._db, *whose, [one for one, _ in batch])
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            if len(batch) == 1:
                _fail(batch, error)
            else:
                for one in batch:
                    await self._commit(whose, [one])
        except Exception as error:  # nobody is left waiting, whatever it was
            _fail(batch, error)
        else:
            for (_, future), verdict in zip(batch, verdicts, strict=True):
                if not future.done():
                    future.set_result(verdict)


def _fail(batch: Sequence[Waiting], error: Exception) -> None:
    for _, future in batch:
        if not future.done():
            future.set_exception(error)

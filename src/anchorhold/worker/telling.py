"""Telling others: messages are made, and those whose time has come are posted beside each other."""

import asyncio
from collections import Counter
from typing import Final

from anchorhold.domain.scope import Scope
from anchorhold.engine.deliver import PAGE, Postman, deliver, make
from anchorhold.engine.deps import Deps
from anchorhold.store import messages
from anchorhold.store.messages import Due
from anchorhold.worker.stop import Stop

AT_ONCE: Final = 16
"""One endpoint that answers slowly keeps no other from hearing."""


async def tell(deps: Deps, postman: Postman, scope: Scope, stop: Stop) -> Counter[str]:
    """What happened and was not told is told, and what is due is tried once; counts by row.

    A stop begins no further try; what was taken for one comes again in a minute.
    """
    counts: Counter[str] = Counter()
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(due: Due) -> None:
        async with gate:
            if not stop.asked:
                counts[await deliver(deps, postman, scope, due)] += 1

    await make(deps, scope)
    while not stop.asked and (page := await messages.take(deps.db, scope, limit=PAGE)):
        await asyncio.gather(*(one(due) for due in page))
    return counts

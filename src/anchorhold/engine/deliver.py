"""Telling others: messages are made from the journal, each is tried until it is delivered.

At least once: an endpoint that answered and was not heard gets the same message, under the same
id, again.
"""

from collections import Counter
from typing import Protocol

from anchorhold.domain.scope import Scope
from anchorhold.domain.webhook import Act, Sent, read, wait_s
from anchorhold.engine.deps import Deps
from anchorhold.store import messages
from anchorhold.store.messages import Due, Try

PAGE = 100


class Postman(Protocol):
    """Who signs and posts a message; it raises nothing but cancellation."""

    async def post(self, scope: Scope, due: Due) -> Sent:
        """The message was posted once to its endpoint, and this is what came back."""
        ...


async def make(deps: Deps, scope: Scope) -> int:
    """Every journal row that others hear of has its messages; how many were made now."""
    total = 0
    while made := await messages.make(deps.db, scope, limit=PAGE):
        total += len(made)
    return total


async def deliver(deps: Deps, postman: Postman, scope: Scope, due: Due) -> str:
    """One delivery was tried once and the answer is written; the id of the row that decided."""
    sent = await postman.post(scope, due)
    row = read(sent.said)
    wait = wait_s(
        row,
        due.tries - due.tries_before,
        chance=_chance(due),
        retry_after_s=sent.retry_after_s,
    )
    tried = Try(row.id, str(sent.said), sent.took_ms, sent.detail, row.act is Act.DELIVERED, wait)
    if await messages.end_try(deps.db, scope, due, tried) == "failed":
        deps.log.error("webhook.endpoint_disabled", endpoint=due.endpoint_id, said=str(sent.said))
    return row.id


async def deliver_due(deps: Deps, postman: Postman, scope: Scope) -> dict[str, int]:
    """Everything whose time has come was tried once; counts by row."""
    counts: Counter[str] = Counter()
    while page := await messages.take(deps.db, scope, limit=PAGE):
        for due in page:
            counts[await deliver(deps, postman, scope, due)] += 1
    return counts


def _chance(due: Due) -> float:
    """Between 0 and 1, another one for each delivery and try; the engine throws no dice."""
    digits = sum(map(ord, due.id[-10:])) * 7 + due.tries * 13
    return digits % 101 / 100

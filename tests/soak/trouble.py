"""The trouble: what is done to the processes around a charge, by a plan that a seed decides."""

import asyncio
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from tests.soak.database import Database
from tests.soak.operators import Operators
from tests.soak.proxy import Proxy
from tests.soak.scene import HOLD_S, STALL_S, Scene
from tests.soak.stripe_side import StripeSide
from tests.soak.workers import Workers


class Trouble(StrEnum):
    """One act, as the report names it."""

    WORKER_KILLED = "worker killed with SIGKILL"
    WORKER_FROZEN = "worker frozen beyond its hold, then thawed"
    WORKER_RESTARTED = "worker restarted with SIGTERM"
    POSTMASTER_KILLED = "PostgreSQL killed with SIGKILL"
    POSTGRES_AT_ONCE = "PostgreSQL stopped at once"
    REWOUND = "last commits of the database lost for good"
    BACKENDS_ENDED = "database sessions terminated"
    READ_ONLY = "database read-only for a while"
    LOCKS = "rows locked in the opposite order"
    LOCK_TIMEOUT = "locks given up after 20 ms for a while"
    SERIALIZABLE = "transactions serializable for a while"
    DATABASE_RESET = "database connections reset"
    DATABASE_HALF_CLOSED = "database connections half closed"
    DATABASE_ANSWERS_LOST = "database answers lost after the commit"
    DATABASE_STALLED = "database network stalled"
    STRIPE_RESET = "Stripe connections reset"
    STRIPE_HALF_CLOSED = "Stripe connections half closed"
    STRIPE_ANSWERS_LOST = "Stripe answers lost on the way"
    STRIPE_STALLED = "Stripe network stalled"
    STRIPE_OFFLINE = "Stripe unreachable for a while"
    OPERATOR = "invoice closed or changed by an operator, who may be killed"


DECK: Mapping[Trouble, int] = {
    **dict.fromkeys(Trouble, 1),
    Trouble.WORKER_KILLED: 8,
    Trouble.WORKER_FROZEN: 2,
    Trouble.BACKENDS_ENDED: 2,
    Trouble.LOCKS: 3,
    Trouble.OPERATOR: 8,
    Trouble.DATABASE_ANSWERS_LOST: 3,
    Trouble.STRIPE_ANSWERS_LOST: 2,
}
"""How often each comes before the cards are shuffled again."""


@dataclass(slots=True)
class Ground:
    """All that can be broken."""

    database: Database
    stripe: StripeSide
    to_database: Proxy
    to_stripe: Proxy
    workers: Workers
    operators: Operators
    rewinding: asyncio.Lock = field(default_factory=asyncio.Lock)
    done: Counter[Trouble] = field(default_factory=Counter)
    invoices: int = 0
    charged: int = 0
    """On how many invoices nothing is under way any more, when that was looked at last."""


Act = Callable[[Ground, Random], Awaitable[None]]


def plan(random: Random) -> Iterator[Trouble]:
    """For ever: every kind comes, in an order that the seed decides."""
    while True:
        cards = [trouble for trouble, count in DECK.items() for _ in range(count)]
        random.shuffle(cards)
        yield from cards


async def make(ground: Ground, random: Random, scene: Scene) -> None:
    """Until it is cancelled, one act after the other; the long ones go on beside the next.

    What was begun is ended before this returns.
    """
    running: set[asyncio.Task[None]] = set()
    try:
        for trouble in plan(random):
            await _pause(ground, random.uniform(0.4, 1.6) * scene.pause_s, scene)
            task = asyncio.create_task(_act(ground, trouble, Random(random.random())))
            running.add(task)
            for ended in [task for task in running if task.done()]:
                running.discard(ended)
                ended.result()
    finally:
        await asyncio.gather(*running)
        await ground.database.start()


async def _pause(ground: Ground, at_least_s: float, scene: Scene) -> None:
    """On a slow machine the trouble waits for the charges, or nothing would ever be charged."""
    before = ground.charged
    await asyncio.sleep(at_least_s)
    with suppress(TimeoutError):
        async with asyncio.timeout(scene.idle_s):
            while ground.charged < before + scene.charges_per_act:  # noqa: ASYNC110 - looked at
                await asyncio.sleep(0.1)


async def _act(ground: Ground, trouble: Trouble, random: Random) -> None:
    ground.done[trouble] += 1
    await ACTS[trouble](ground, random)


async def _reset(proxy: Proxy, random: Random) -> None:
    for wire in proxy.some(random, random.uniform(0.2, 1)):
        wire.reset()


async def _half_close(proxy: Proxy, random: Random) -> None:
    for wire in proxy.some(random, 0.5):
        wire.half_close(to_server=random.random() < 0.5)


async def _lose_answers(proxy: Proxy, random: Random) -> None:
    for wire in proxy.some(random, 0.5):
        wire.lose_answer()


async def _ask_to_stop(ground: Ground, random: Random) -> None:
    ground.workers.ask_to_stop(random)


async def _lock(ground: Ground, random: Random) -> None:
    """Several times, so that the program's statements come between the two locks."""
    for _ in range(5):
        await ground.database.lock(random.uniform(0.1, 0.6))


async def _rewind(ground: Ground, random: Random) -> None:
    if not ground.rewinding.locked():
        async with ground.rewinding:
            await ground.database.rewind(random.uniform(3, 15))


async def _lock_timeout(ground: Ground, random: Random) -> None:
    spell = ground.database.spell("lock_timeout", "'20ms'", random.uniform(2, 4))
    await asyncio.gather(spell, _lock(ground, random))


ACTS: Mapping[Trouble, Act] = {
    Trouble.WORKER_KILLED: lambda ground, random: ground.workers.kill(random),
    Trouble.WORKER_FROZEN: lambda ground, random: ground.workers.freeze(
        random, HOLD_S + random.uniform(1, 5)
    ),
    Trouble.WORKER_RESTARTED: _ask_to_stop,
    Trouble.POSTMASTER_KILLED: lambda ground, random: ground.database.end(
        signal.SIGKILL, random.uniform(0, 3)
    ),
    Trouble.POSTGRES_AT_ONCE: lambda ground, random: ground.database.end(
        signal.SIGQUIT, random.uniform(0, 2)
    ),
    Trouble.REWOUND: _rewind,
    Trouble.BACKENDS_ENDED: lambda ground, random: ground.database.terminate(random, 0.5),
    Trouble.READ_ONLY: lambda ground, random: ground.database.spell(
        "default_transaction_read_only", "on", random.uniform(0.5, 4)
    ),
    Trouble.LOCKS: _lock,
    Trouble.LOCK_TIMEOUT: _lock_timeout,
    Trouble.SERIALIZABLE: lambda ground, random: ground.database.spell(
        "default_transaction_isolation", "'serializable'", random.uniform(2, 5)
    ),
    Trouble.DATABASE_RESET: lambda ground, random: _reset(ground.to_database, random),
    Trouble.DATABASE_HALF_CLOSED: lambda ground, random: _half_close(ground.to_database, random),
    Trouble.DATABASE_ANSWERS_LOST: lambda ground, random: _lose_answers(ground.to_database, random),
    Trouble.DATABASE_STALLED: lambda ground, random: ground.to_database.stall(
        random.uniform(0.5, STALL_S)
    ),
    Trouble.STRIPE_RESET: lambda ground, random: _reset(ground.to_stripe, random),
    Trouble.STRIPE_HALF_CLOSED: lambda ground, random: _half_close(ground.to_stripe, random),
    Trouble.STRIPE_ANSWERS_LOST: lambda ground, random: _lose_answers(ground.to_stripe, random),
    Trouble.STRIPE_STALLED: lambda ground, random: ground.to_stripe.stall(
        random.uniform(0.5, STALL_S)
    ),
    Trouble.OPERATOR: lambda ground, random: ground.operators.act(random),
    Trouble.STRIPE_OFFLINE: lambda ground, random: ground.stripe.offline(random.uniform(1, 3)),
}
"""What each kind of trouble does."""

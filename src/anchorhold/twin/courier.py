"""Sends events to webhook endpoints over HTTP, a few times each."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import aiohttp

from anchorhold.twin.state import Account
from anchorhold.twin.webhooks import Hook, signature
from anchorhold.twin.wire import Obj, encode
from anchorhold.twin.world import Twin

WAITS_S = (0.0, 0.5, 2.0, 8.0)
"""Pause before each try of one event; after the last the event stays undelivered."""
AT_ONCE = 8
"""Deliveries under way at a time, over all endpoints."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One try. `status` is None when no answer came."""

    event: str
    type: str
    url: str
    attempt: int
    status: int | None


class Courier:
    """Delivers every event of a twin that one of its hooks wants; keeps a log of all tries."""

    def __init__(self, twin: Twin, hooks: Sequence[Hook], seed: int | str = 0) -> None:
        self._twin = twin
        self._hooks = tuple(hooks)
        self._random = Random(f"webhooks:{seed}")  # noqa: S311 - repeatable, not secret
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self.log: list[Delivery] = []

    async def start(self) -> None:
        """From now on events go out."""
        if self._hooks:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
            self._twin.listeners.append(self._heard)

    async def stop(self) -> None:
        """Give up what is under way and send nothing more."""
        if self._session is None:
            return
        self._twin.listeners.remove(self._heard)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    async def idle(self) -> None:
        """Wait until every delivery that is under way has ended."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _heard(self, account: Account, event: Obj) -> None:
        wanting = [hook for hook in self._hooks if hook.wants(account.id, event["type"])]
        if not wanting:
            return
        account.events.put({**event, "pending_webhooks": len(wanting)})
        for hook in wanting:
            for _ in range(self._copies(hook)):
                task = asyncio.get_running_loop().create_task(self._deliver(account, event, hook))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _copies(self, hook: Hook) -> int:
        chance = self._random.random()
        if chance < hook.lost:
            return 0
        return 2 if chance < hook.lost + hook.doubled else 1

    async def _deliver(self, account: Account, event: Obj, hook: Hook) -> None:
        body = encode({**event, "pending_webhooks": 1})
        for attempt, wait_s in enumerate(WAITS_S, start=1):
            await asyncio.sleep(wait_s)
            async with self._slots:
                status = await self._post(hook, body)
            self.log.append(Delivery(event["id"], event["type"], hook.url, attempt, status))
            if status is not None and 200 <= status < 300:
                _count_down(account, event["id"])
                return

    async def _post(self, hook: Hook, body: bytes) -> int | None:
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Stripe-Signature": signature(body, int(self._twin.now()), hook.secrets),
            "User-Agent": "Stripe/1.0 (twin)",
        }
        if self._session is None:
            return None
        try:
            async with self._session.post(
                hook.url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                return answer.status
        except (aiohttp.ClientError, TimeoutError):
            return None


def _count_down(account: Account, id_: str) -> None:
    event = account.events.get(id_)
    if event is not None and event["pending_webhooks"] > 0:
        account.events.put({**event, "pending_webhooks": event["pending_webhooks"] - 1})

"""Sends events to webhook endpoints over HTTP, a few times each.

Where they go: the hooks that the twin was started with, and the webhook endpoints that were made
through the API. An endpoint with `connect` hears of the connected accounts, and of nothing else.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import aiohttp

from anchorhold.twin.events import rendered
from anchorhold.twin.state import Account
from anchorhold.twin.webhook_endpoints import enabled
from anchorhold.twin.webhooks import Hook, Trouble, signature
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
    endpoint: str | None = None


class Courier:
    """Delivers every event of a twin that somebody wants; keeps a log of all tries."""

    def __init__(self, twin: Twin, hooks: Sequence[Hook], seed: int | str = 0) -> None:
        self._twin = twin
        self._hooks = tuple(hooks)
        self._random = Random(f"webhooks:{seed}")  # noqa: S311 - repeatable, not secret
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self.trouble = Trouble()
        self.log: list[Delivery] = []

    async def start(self) -> None:
        """From now on events go out."""
        self._twin.listeners.append(self._heard)
        self._twin.resenders.append(self._resend)

    async def stop(self) -> None:
        """Give up what is under way and send nothing more."""
        if self._heard not in self._twin.listeners:
            return
        self._twin.listeners.remove(self._heard)
        self._twin.resenders.remove(self._resend)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def idle(self) -> None:
        """Wait until every delivery that is under way has ended."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def hooks(self, account: Account) -> Iterator[Hook]:
        """Everybody who could want an event of this account."""
        yield from self._hooks
        yield from (self._hook(account, one) for one in enabled(account, connect=False))
        for platform in self._twin.accounts:
            if platform.id == account.platform and platform.livemode == account.livemode:
                yield from (self._hook(platform, one) for one in enabled(platform, connect=True))

    def _hook(self, owner: Account, endpoint: Obj) -> Hook:
        signing = owner.signing[endpoint["id"]]
        return Hook(
            endpoint["url"],
            signing.secrets(self._twin.now()),
            tuple(endpoint["enabled_events"]),
            version=endpoint["api_version"],
            endpoint=endpoint["id"],
        )

    def _heard(self, account: Account, event: Obj) -> None:
        wanting = [hook for hook in self.hooks(account) if hook.wants(account.id, event["type"])]
        if not wanting:
            return
        account.events.put({**event, "pending_webhooks": len(wanting)})
        for hook in wanting:
            for _ in range(self._copies(hook)):
                self._send(account, event, hook, self._wait_s())

    def _resend(self, account: Account, event: Obj, endpoint: str | None) -> None:
        for hook in self.hooks(account):
            chosen = (
                hook.endpoint == endpoint if endpoint else hook.wants(account.id, event["type"])
            )
            if chosen:
                self._send(account, event, hook, 0.0)

    def _copies(self, hook: Hook) -> int:
        chance = self._random.random()
        lost = max(hook.lost, self.trouble.lost)
        if chance < lost:
            return 0
        return 2 if chance < lost + max(hook.doubled, self.trouble.doubled) else 1

    def _wait_s(self) -> float:
        trouble = self.trouble
        wait_s = trouble.shuffle_s and trouble.shuffle_s * self._random.random()
        late = trouble.late and self._random.random() < trouble.late
        return wait_s + trouble.late_s if late else wait_s

    def _send(self, account: Account, event: Obj, hook: Hook, wait_s: float) -> None:
        if wait_s:
            later = self._twin.act(account.id).later
            later(wait_s, lambda _call: self._begin(account, event, hook))
        else:
            self._begin(account, event, hook)

    def _begin(self, account: Account, event: Obj, hook: Hook) -> None:
        task = asyncio.get_running_loop().create_task(self._deliver(account, event, hook))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, account: Account, event: Obj, hook: Hook) -> None:
        newest = account.newest_events[event["id"]]
        shown = rendered(account, newest, hook.version or account.api_version)
        body = encode({**shown, "pending_webhooks": 1})
        for attempt, wait_s in enumerate(WAITS_S, start=1):
            await asyncio.sleep(wait_s)
            async with self._slots:
                status = await self._post(hook, body)
            tried = Delivery(event["id"], event["type"], hook.url, attempt, status, hook.endpoint)
            self.log.append(tried)
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
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
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

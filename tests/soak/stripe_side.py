"""The twin as a process of its own, reached over HTTP."""

import asyncio
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import aiohttp

from anchorhold.demo.processes import inherited
from anchorhold.twin.faults import Rule
from anchorhold.twin.ledger import Payment
from tests.soak.proxy import Streams

PING_S = 0.25


class StripeSide:
    """`anchorhold twin` on a free port; gone at the end of the block, with all that it knew."""

    def __init__(self, seed: int) -> None:
        self._seed = str(seed)
        self.slowest_s = 0.0

    async def __aenter__(self) -> Self:
        """It listens."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "anchorhold", "twin", "--port", "0", "--seed", self._seed),
            env=inherited({}),
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout
        said = (await self._process.stdout.readline()).decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", said)
        assert found, f"the twin said: {said!r}"
        self.port = int(found[1])
        self._http = aiohttp.ClientSession(f"http://127.0.0.1:{self.port}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """It is dead."""
        await self._http.close()
        self._process.kill()
        await self._process.communicate()

    async def reach(self) -> Streams:
        """A raw connection to it."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def faults(self, rules: Iterable[Rule]) -> None:
        """From now on these, and no others."""
        shown = [rule.shown() for rule in rules]
        await self._post("faults", {"rules": shown, "seed": self._seed})

    async def offline(self, seconds: float) -> None:
        """For so long it refuses every connection."""
        await self._post("offline", {"seconds": seconds})
        await asyncio.sleep(seconds)

    async def requests(self) -> list[dict[str, Any]]:
        """Everything that reached it."""
        found = await self._get("requests")
        return list(found["requests"])

    async def payments(self) -> Mapping[str, list[Payment]]:
        """The successes by invoice."""
        shown = (await self._get("ledger"))["payments"]
        return {invoice: [_payment(one) for one in found] for invoice, found in shown.items()}

    async def intents(self) -> list[dict[str, Any]]:
        """Every PaymentIntent, oldest first."""
        found = await self._get("ledger")
        return list(found["intents"])

    async def measure(self, port: int) -> None:
        """For ever: how long the slowest passage to it took, by way of this port, seconds.

        On a machine that is short of CPU a request lies for seconds in a buffer, sent in time.
        """
        clock = asyncio.get_running_loop().time
        patience = aiohttp.ClientTimeout(total=600)
        while True:
            began = clock()
            with suppress(aiohttp.ClientError, OSError):
                async with aiohttp.request(
                    "GET", f"http://127.0.0.1:{port}/_twin/clock", timeout=patience
                ) as answer:
                    await answer.read()
            self.slowest_s = max(self.slowest_s, clock() - began)
            await asyncio.sleep(PING_S)

    async def _post(self, path: str, body: Mapping[str, object]) -> None:
        async with self._http.post(f"/_twin/{path}", json=body) as answer:
            assert answer.status == 200, await answer.text()

    async def _get(self, path: str) -> dict[str, Any]:
        patience = aiohttp.ClientTimeout(total=120)
        async with self._http.get(f"/_twin/{path}", timeout=patience) as answer:
            assert answer.status == 200, await answer.text()
            found: dict[str, Any] = await answer.json()
            return found


def _payment(shown: Mapping[str, Any]) -> Payment:
    return Payment(**{name: value for name, value in shown.items() if name != "net"})

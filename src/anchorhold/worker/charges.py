"""The charges that run in this process, each on a task of its own.

Whoever waits for them may be cancelled; they are not. Only the end of the process cuts one short,
and then its hold stays and the sweep finds out.
"""

import asyncio
from collections.abc import Sequence

from anchorhold.domain.hold import Claim
from anchorhold.engine.charge import Charged, charge
from anchorhold.engine.deps import Deps
from anchorhold.meter import UNMETERED, Meter


class Charges:
    """All that run; one per process. `meter` is told how each ended."""

    def __init__(self, meter: Meter = UNMETERED) -> None:
        self._meter = meter
        self._running: set[asyncio.Task[Charged | None]] = set()

    @property
    def running(self) -> int:
        """How many have not ended."""
        return len(self._running)

    async def charge_all(self, deps: Deps, claims: Sequence[Claim]) -> list[Charged]:
        """Each claim was charged, all at once; those that came to an end, in no order.

        One that raises is logged and keeps its hold; the others do not notice.
        """
        tasks = {asyncio.create_task(_charge(deps, claim)) for claim in claims}
        self._running |= tasks
        for task in tasks:
            task.add_done_callback(self._running.discard)
        if not tasks:
            return []
        done, _ = await asyncio.wait(tasks)
        ended = [charged for task in done if (charged := task.result()) is not None]
        for charged in ended:
            self._meter.charged(charged)
        return ended

    async def finished(self) -> None:
        """None runs any more."""
        while self._running:
            await asyncio.wait(self._running)


async def _charge(deps: Deps, claim: Claim) -> Charged | None:
    try:
        return await charge(deps, claim)
    except Exception:  # the hold stays; the other charges of the batch go on
        deps.log.error("charge.failed", invoice=claim.token.invoice_id, exc_info=True)
        return None

"""The worker processes: killed, frozen, asked to stop, and replaced when they have ended."""

import asyncio
import signal
from collections import Counter
from random import Random

from typing_extensions import override

from anchorhold.demo.processes import Herd, ProgramError
from anchorhold.domain.refusals import Exit

FALLS = 20
QUIET_ENDS = frozenset(
    {Exit.DONE, Exit.UNAVAILABLE, Exit.INTERRUPTED, -signal.SIGKILL, -signal.SIGTERM}
)
"""Asked (too early to hear it, or twice), refused a start without its database, or killed."""


class Workers(Herd):
    """Always so many: whoever ended is replaced by `supervise`, whatever the reason."""

    ends: Counter[int]

    def alive(self) -> list[asyncio.subprocess.Process]:
        """Those that run now, frozen ones too."""
        return [one for one in self._running.values() if one.returncode is None]

    async def freeze(self, random: Random, seconds: float) -> None:
        """One of them stood still for so long."""
        if not (alive := self.alive()):
            return
        one = random.choice(alive)
        one.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        if one.returncode is None:
            one.send_signal(signal.SIGCONT)

    def ask_to_stop(self, random: Random) -> None:
        """One of them was asked to stop."""
        if alive := self.alive():
            random.choice(alive).send_signal(signal.SIGTERM)

    async def supervise(self) -> None:
        """Whoever has ended by itself is counted by its exit code and replaced.

        Raises `ProgramError` when too many fell over: then nothing is left to be soaked.
        """
        self.ends = Counter()
        while True:
            await asyncio.sleep(0.25)
            for slot, one in list(self._running.items()):
                if one.returncode is not None and one is self._running[slot]:
                    self.ends[one.returncode] += one.returncode != -signal.SIGKILL
                    await self._begin(slot)
            if sum(self.fell_over().values()) > FALLS:
                words = self._log.read_text(encoding="utf-8", errors="replace").strip()
                raise ProgramError(f"workers fell over again and again: {words[-400:]}")

    @override
    async def kill(self, random: Random) -> None:
        """See `Herd.kill`; whoever comes first, this or `supervise`, replaces the dead one."""
        if not (alive := self.alive()):
            return
        random.choice(alive).kill()
        self.kills += 1

    def fell_over(self) -> dict[int, int]:
        """Exit codes that no worker should have, and how often."""
        return {code: n for code, n in self.ends.items() if code not in QUIET_ENDS and n}

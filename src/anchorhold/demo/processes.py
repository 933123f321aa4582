"""Real processes of the real program, started, killed and replaced."""

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)


class ProgramError(RuntimeError):
    """A command of the demo failed; carries what it said."""


async def program(env: Mapping[str, str], *args: str) -> str:
    """What `anchorhold ARGS` printed. Raises `ProgramError` when it failed."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "anchorhold",
        *args,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await process.communicate()
    finally:
        # Whoever is cancelled here leaves nobody who works on in the demo's folder.
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise ProgramError(f"anchorhold {' '.join(args)}: {err.decode().strip()}")
    return out.decode()


class Herd:
    """Some processes that are always so many: whoever dies is replaced at once."""

    def __init__(
        self, commands: Sequence[Sequence[str]], env: Mapping[str, str], log: Path
    ) -> None:
        """`log` takes what they print."""
        self._commands = commands
        self._env = env
        self._log = log
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self.kills = 0

    async def start(self) -> None:
        """All of them run."""
        for slot in range(len(self._commands)):
            await self._begin(slot)

    async def _begin(self, slot: int) -> None:
        with self._log.open("ab") as log:
            self._running[slot] = await asyncio.create_subprocess_exec(
                *self._commands[slot], env=self._env, stdout=log, stderr=log, preexec_fn=_with_us
            )

    async def kill(self, random: Random) -> None:
        """One of them, picked by `random`, got SIGKILL in the middle of whatever it did."""
        alive = [slot for slot, process in self._running.items() if process.returncode is None]
        if not alive:
            return
        slot = random.choice(alive)
        self._running[slot].kill()
        await self._running[slot].wait()
        self.kills += 1
        await self._begin(slot)

    def require_alive(self) -> None:
        """Nobody ended by itself. Raises `ProgramError` with the last words of one that did."""
        for process in self._running.values():
            if process.returncode is not None and process.returncode != -signal.SIGKILL:
                words = self._log.read_text(encoding="utf-8", errors="replace").strip()
                raise ProgramError(f"a worker ended with {process.returncode}: {words[-400:]}")

    @property
    def ended(self) -> bool:
        """Every process came to its own end."""
        return all(process.returncode is not None for process in self._running.values())

    async def stop(self, patience_s: float = 15) -> None:
        """None of them runs; each was asked first."""
        for process in self._running.values():
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
        for process in self._running.values():
            try:
                await asyncio.wait_for(process.wait(), patience_s)
            except TimeoutError:
                process.kill()
                await process.wait()


def _with_us() -> None:
    """In the child: when the demo is killed, nobody is left to stop it, so the kernel does."""
    if sys.platform == "linux":
        _LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))


async def kill_now_and_then(
    herd: Herd, random: Random, kills: int, pause_s: float, over: Callable[[], bool]
) -> None:
    """`kills` processes got SIGKILL, one after the other, or the work was over before."""
    while herd.kills < kills and not over():
        await asyncio.sleep(random.uniform(0.4, 1.6) * pause_s)
        await herd.kill(random)


def inherited(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without settings of ours, and `extra`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANCHORHOLD_")}
    return kept | dict(extra)

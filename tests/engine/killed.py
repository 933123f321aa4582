"""A real process that charges what is due and is killed by SIGKILL at one boundary.

Run as a program it forks one such process for each line of JSON on its input, and answers with how
that one ended: a fork costs less than a new interpreter.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import psycopg
from typing_extensions import override

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.ids import AccountId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import connect
from anchorhold.stripe.transport import Transport
from tests.engine.rig import Gate, Rig, RigTransport, ShiftedDb, When, make_twin

T = TypeVar("T")
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Job:
    """What a process is to charge, and where it dies: at the `count`-th passage of `name`."""

    conninfo: str
    account_id: str
    base: str
    name: str
    count: int
    when: str
    mode: str = "prepared"


class Killing(Gate):
    """Kills its own process, at once and for good."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        self.passed.append(name)
        here = (name, self.passed.count(name)) == (self.job.name, self.job.count)
        if here and self.job.when == When.BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await act()
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


async def charge(job: Job) -> None:
    """Everything due is charged, over HTTP, until the process is killed."""
    http = Transport()
    twin, clock = make_twin(0)
    with psycopg.connect(job.conninfo, autocommit=True) as by_hand:
        async with connect(job.conninfo, size=2) as pool:
            scope = Scope(AccountId(job.account_id), livemode=False)
            rig = Rig(
                job.conninfo,
                by_hand,
                ShiftedDb(pool),
                twin,
                clock,
                RigTransport(twin, by_hand),
                scope,
                base=job.base,
                over_http=http,
                charge_mode=ChargeMode(job.mode),
            )
            await rig.charge_due(rig.deps(Killing(job)))
            await http.close_async()


def fork(job: Job) -> int:
    """The signal that ended a process with this job; 0 when it came to its end alive."""
    if (child := os.fork()) == 0:
        try:
            asyncio.run(charge(job))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main() -> None:
    """One process for each line of input."""
    for line in sys.stdin:
        print(fork(Job(**json.loads(line))), flush=True)


@dataclass
class Killer:
    """The program in a process of its own."""

    process: subprocess.Popen[str]

    async def run(self, job: Job) -> int:
        """The signal that ended the process that had this job."""
        return await asyncio.to_thread(self._run, job)

    def _run(self, job: Job) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asdict(job)) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def killer() -> Generator[Killer]:
    """The program runs until the end of the block."""
    command = [sys.executable, "-m", "tests.engine.killed"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        yield Killer(process)


if __name__ == "__main__":
    main()

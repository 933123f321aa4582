"""One soak, from the empty database to the audit."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from random import Random
from typing import LiteralString

import psycopg

from anchorhold.demo.processes import ProgramError, inherited, program
from anchorhold.demo.workload import as_csv
from anchorhold.twin.world import SECRET_KEY
from tests.soak import audit as audits
from tests.soak.audit import Audit
from tests.soak.database import Database
from tests.soak.operators import Operators
from tests.soak.proxy import Proxy
from tests.soak.scene import SWEEP_MODES, Scene, faults
from tests.soak.stripe_side import StripeSide
from tests.soak.trouble import Ground, make
from tests.soak.workers import Workers

POLL_S = 0.5
OPERATORS = 4
ROUNDS = 5
SECRET = "YW5jaG9yaG9sZCBzb2FrIG9ubHksIDMyIGJ5dGVzISE="
LEFT: LiteralString = """
    SELECT count(*) FILTER (WHERE status = 'paid'),
           count(*) FILTER (WHERE hold_until IS NOT NULL
                               OR payment_status IN ('processing', 'unknown')
                               OR (status = 'open' AND payment_status = 'pending'))
      FROM anchorhold.invoice
"""

MODES: LiteralString = "UPDATE anchorhold.account SET charge_mode = %s, sweep_mode = %s"


@dataclass(frozen=True, slots=True)
class Soaked:
    """What was done and what was found."""

    scene: Scene
    audit: Audit
    troubles: Mapping[str, int]
    stripe_faults: Mapping[str, int]
    database_errors: Mapping[str, int]
    workers_ended: Mapping[int, int]
    commands: Mapping[str, int]
    """Of the operators, by verb and exit code."""
    asked_operator: int
    trouble_s: float
    quiet_after_s: float
    slowest_s: float
    """The slowest passage to Stripe."""

    @property
    def clean(self) -> bool:
        """Nothing is wrong, and something was paid."""
        return not self.audit.findings and self.audit.counted.paid > 0


Tell = Callable[[str], None]
"""Called with a line about how it stands, now and then."""


async def soak(scene: Scene, tell: Tell) -> Soaked:
    """All charges ran under trouble, came to rest, and were audited."""
    async with _ground(scene) as (ground, env):
        await _set_up(scene, ground, env)
        await ground.stripe.faults(faults())
        await ground.workers.start()
        supervising = asyncio.create_task(ground.workers.supervise())
        measuring = asyncio.create_task(ground.stripe.measure(ground.to_stripe.port))
        try:
            trouble_s = await _under_trouble(scene, ground, tell, supervising)
            quiet_after_s = await _rest(scene, ground, tell)
            asked = await _ask_the_operator(scene, ground, env, tell)
        finally:
            for task in (supervising, measuring):
                task.cancel()
            await asyncio.gather(supervising, measuring, return_exceptions=True)
            await ground.workers.stop()
        audit, requests = await _audit(ground, env, direct=scene.charge_mode == "direct")
        return Soaked(
            scene=scene,
            audit=audit,
            troubles={trouble.value: n for trouble, n in ground.done.most_common()},
            stripe_faults=requests,
            database_errors=ground.database.met(),
            workers_ended=dict(ground.workers.ends),
            commands={f"{verb} {code}": n for (verb, code), n in ground.operators.ends.items()},
            asked_operator=asked,
            trouble_s=round(trouble_s, 1),
            quiet_after_s=round(quiet_after_s, 1),
            slowest_s=round(ground.stripe.slowest_s, 1),
        )


@asynccontextmanager
async def _ground(scene: Scene) -> AsyncGenerator[tuple[Ground, dict[str, str]]]:
    database = Database(scene.folder / "postgres", durable=scene.durable)
    await database.start()
    async with StripeSide(scene.seed) as stripe:
        to_database, to_stripe = Proxy(database.reach), Proxy(stripe.reach)
        await to_database.start()
        await to_stripe.start()
        env = inherited(_settings(scene, to_database.port, to_stripe.port))
        command = (sys.executable, "-m", "anchorhold", "worker")
        log = scene.folder / "workers.log"
        workers = Workers([command] * scene.workers, env, log)
        try:
            things = (database, stripe, to_database, to_stripe, workers, Operators(database, env))
            yield Ground(*things, invoices=scene.charges), env
        finally:
            await to_database.stop()
            await to_stripe.stop()
            await database.stop()


def _settings(scene: Scene, database_port: int, stripe_port: int) -> dict[str, str]:
    address = f"anchorhold@127.0.0.1:{database_port}/anchorhold"
    return {
        **scene.times,
        "ANCHORHOLD_DATA_DIR": str(scene.folder),
        "ANCHORHOLD_DATABASE_URL": f"postgresql://{address}?sslmode=disable&gssencmode=disable",
        "ANCHORHOLD_SECRET_KEY": SECRET,
        "ANCHORHOLD_STRIPE_API_BASE": f"http://127.0.0.1:{stripe_port}",
        "ANCHORHOLD_STRIPE_KEY": SECRET_KEY,
        "ANCHORHOLD_STRIPE_RATE_PER_ENDPOINT": f"{scene.pace:.1f}",
        "ANCHORHOLD_STRIPE_RATE": f"{4 * scene.pace:.1f}",
    }


async def _set_up(scene: Scene, ground: Ground, env: Mapping[str, str]) -> None:
    file = scene.folder / "invoices.csv"
    file.write_text(as_csv(scene.charges), encoding="utf-8")
    await program(env, "db", "up")
    await program(env, "account", "create", "default")
    await ground.database.rows(MODES, scene.charge_mode, SWEEP_MODES[scene.mode])
    await program(env, "account", "connect", "default")
    await program(env, "invoice", "import", str(file))


async def _under_trouble(
    scene: Scene, ground: Ground, tell: Tell, supervising: asyncio.Task[None]
) -> float:
    """Trouble went on until nearly all charges had been tried; how long, in seconds."""
    began = time.monotonic()
    random = Random(scene.seed)
    trouble = asyncio.create_task(make(ground, random, scene))
    enough = max(2, scene.charges // 50)
    while time.monotonic() < began + scene.charging_s and not trouble.done():
        await asyncio.sleep(POLL_S)
        if supervising.done():
            supervising.result()
        if (left := await _left(ground, tell)) is not None and left <= enough:
            break
    trouble.cancel()
    with suppress(asyncio.CancelledError):
        await trouble
    return time.monotonic() - began


async def _left(ground: Ground, tell: Tell) -> int | None:
    """On how many invoices something is still under way; None while the database is away."""
    try:
        ((paid, left),) = await ground.database.rows(LEFT)
    except psycopg.Error:
        return None
    ground.charged = ground.invoices - left
    tell(f"{paid} paid, {left} to go, {ground.done.total()} acts of trouble")
    return int(left)


async def _rest(scene: Scene, ground: Ground, tell: Tell) -> float:
    """Nothing breaks any more, and nothing is under way; after how long, in seconds."""
    began = time.monotonic()
    await ground.stripe.faults(())
    while time.monotonic() < began + scene.patience_s:
        if await _left(ground, tell) == 0:
            break
        await asyncio.sleep(POLL_S)
    return time.monotonic() - began


async def _ask_the_operator(
    scene: Scene, ground: Ground, env: Mapping[str, str], tell: Tell
) -> int:
    """What two attempts left without a trace is a person's to collect (rule S8): one does.

    Again where a slow machine let the charge come too late to be sent. The number of invoices.
    """
    asked: set[str] = set()
    for _ in range(ROUNDS):
        rows = audits.demo.read_rows(ground.database.conninfo)
        if not (left := [row.id for row in rows if row.ending == row.status == "open"]):
            break
        asked.update(left)
        for start in range(0, len(left), OPERATORS):
            tell(f"{len(left) - start} invoices are an operator's to collect")
            few = left[start : start + OPERATORS]
            commands = (program(env, "invoice", "collect", id_, "--yes") for id_ in few)
            for done in await asyncio.gather(*commands, return_exceptions=True):
                if isinstance(done, BaseException) and not isinstance(done, ProgramError):
                    raise done
        await _rest(scene, ground, tell)
    return len(asked)


async def _audit(
    ground: Ground, env: Mapping[str, str], *, direct: bool
) -> tuple[Audit, dict[str, int]]:
    await _look_through(env)  # Stripe's last news may not have been read yet
    evidence = await audits.gather(ground.database, ground.stripe, direct=direct)
    evidence = replace(evidence, touched=frozenset(ground.operators.touched))
    counted, findings = audits.judge(evidence)
    if changed := await _changed_by_running_again(ground, env):
        findings["I7: changed when everything was run once more"] = changed
    if fell := ground.workers.fell_over():
        findings["workers that fell over"] = [f"{n} with exit code {c}" for c, n in fell.items()]
    if ground.operators.fell_over:
        findings["commands that fell over"] = ground.operators.fell_over
    counts = [
        dict(await ground.database.rows(query))
        for query in (audits.STATES, audits.RULES, audits.NOTICES)
    ]
    met = Counter(str(one["fault"]) for one in await ground.stripe.requests() if one["fault"])
    return Audit(counted, findings, *counts), dict(met.most_common())


async def _changed_by_running_again(ground: Ground, env: Mapping[str, str]) -> list[str]:
    ((before,),) = await ground.database.rows(audits.STANDING)
    await _look_through(env)
    ((after,),) = await ground.database.rows(audits.STANDING)
    names = ("invoices", "attempts", "intents", "payments", "notices", "journal")
    return [name for name, old, new in zip(names, before, after, strict=True) if old != new]


async def _look_through(env: Mapping[str, str]) -> None:
    for _ in range(2):
        await program(env, "tick")

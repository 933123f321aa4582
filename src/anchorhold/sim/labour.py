"""What the processes of a world do: the use cases that ship, one coroutine each."""

from collections.abc import Callable, Mapping
from typing import Final

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.charge import charge
from anchorhold.engine.collect import collect
from anchorhold.engine.prepare import prepare_intent, set_up_customer
from anchorhold.engine.sweep import sweep
from anchorhold.engine.tick import tick
from anchorhold.sim.scheduler import Work
from anchorhold.sim.world import World
from anchorhold.store import customers, holds, intents

LIMIT: Final = 3

Labour = Callable[[World, str, InvoiceId], Work]
"""The world, who works, and the invoice that it is about, if it is about one."""


async def work(world: World, actor: str, _invoice: InvoiceId) -> object:
    """A worker's batch: claim what is due and charge it, one after the other."""
    deps = world.deps(actor)
    claims = await holds.claim_due(deps.db, world.scope, deps.timing, limit=LIMIT, actor=actor)
    ends = [await charge(deps, claim) for claim in claims]
    return ", ".join(f"{end.rule} {end.saved or 'kept'}" for end in ends) or "nothing due"


async def prepare(world: World, actor: str, _invoice: InvoiceId) -> object:
    """Customers are set up and intents prepared, as far as Stripe answers."""
    deps, connected = world.deps(actor), await world.of(world.scope)
    if connected is None:
        return "not connected"
    done = [
        await set_up_customer(deps, connected, world.scope, row)
        for row in await customers.take_unready(deps.db, world.scope, limit=LIMIT)
    ]
    done += [
        await prepare_intent(deps, connected, row)
        for row in await intents.take_unprepared(deps.db, world.scope, limit=LIMIT)
    ]
    return ", ".join(done) or "nothing to prepare"


async def operator(world: World, actor: str, invoice: InvoiceId) -> object:
    """An operator collects one invoice."""
    end = await collect(world.deps(actor), world.scope, invoice)
    return f"{end.rule} {end.saved or 'kept'}"


async def sweeps(world: World, actor: str, _invoice: InvoiceId) -> object:
    """One sweep of all stale holds."""
    swept = await sweep(world.deps(actor), world.scope)
    world.rows |= swept.rows.keys()
    return " ".join(sorted(swept.rows)) or "no stale hold"


async def ticks(world: World, actor: str, _invoice: InvoiceId) -> object:
    """A tick: the flagged key, the sweep, followers and watchers."""
    ticked = await tick(world.deps(actor), world.scope)
    found = ticked.swept.rows.keys() | ticked.followed.keys() | ticked.watched.keys()
    world.rows |= found
    return " ".join(sorted(found)) or "nothing to look at"


KINDS: Final[Mapping[str, Labour]] = {
    "worker": work,
    "preparer": prepare,
    "operator": operator,
    "sweep": sweeps,
    "tick": ticks,
}
"""What a process of each kind does."""

"""What the processes of a world do: the use cases that ship, one coroutine each."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.closing import FinalAction
from anchorhold.domain.ids import CustomerId, PaymentId
from anchorhold.engine import close, news, page, refunds, repair
from anchorhold.engine.amend import amend
from anchorhold.engine.charge import charge
from anchorhold.engine.claim import claim, claim_due
from anchorhold.engine.close import Closed
from anchorhold.engine.collect import collect
from anchorhold.engine.credit import settle_without_stripe
from anchorhold.engine.final_action import final_action
from anchorhold.engine.prepare import prepare_intent, set_up_customer
from anchorhold.engine.sweep import sweep
from anchorhold.engine.tick import tick
from anchorhold.sim.mode import Mode
from anchorhold.sim.moves import Move
from anchorhold.sim.scheduler import Work
from anchorhold.sim.statements import statement
from anchorhold.sim.world import AMOUNT, World
from anchorhold.store import credits as balances
from anchorhold.store import customers, intents
from anchorhold.stripe import views

LIMIT: Final = 3
WHY: Final = "the world wants it"

Labour = Callable[[World, str, Move], Work]
"""The world, who works, and the move that began it, which may name an invoice."""


async def work(world: World, actor: str, _move: Move) -> object:
    """A worker's batch: claim what is due and charge it, one after the other."""
    deps = world.deps(actor)
    directly = world.setting.mode is not Mode.PREPARED
    claims = await claim_due(deps, world.scope, limit=LIMIT, directly=directly)
    ends = [await charge(deps, one) for one in claims]
    return ", ".join(f"{end.rule} {end.saved or 'kept'}" for end in ends) or "nothing due"


async def prepare(world: World, actor: str, _move: Move) -> object:
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


async def operator(world: World, actor: str, move: Move) -> object:
    """An operator collects one invoice."""
    end = await collect(world.deps(actor), world.scope, world.invoice(move.invoice))
    return f"{end.rule} {end.saved or 'kept'}"


async def dunning(world: World, actor: str, move: Move) -> object:
    """A dunning retry of one invoice."""
    deps, invoice = world.deps(actor), world.invoice(move.invoice)
    claimed = await claim(deps, world.scope, invoice, AttemptKind.DUNNING)
    if claimed is None:
        return "not now"
    end = await charge(deps, claimed)
    return f"{end.rule} {end.saved or 'kept'}"


async def sweeps(world: World, actor: str, _move: Move) -> object:
    """One sweep of all stale holds."""
    swept = await sweep(world.deps(actor), world.scope)
    return _noted(world, swept.rows) or "no stale hold"


async def ticks(world: World, actor: str, _move: Move) -> object:
    """A tick: the flagged key, the sweep, followers, watchers and Stripe's events."""
    ticked = await tick(world.deps(actor), world.scope)
    parts = (ticked.swept.rows, ticked.followed, ticked.watched)
    news_of = (ticked.audited.rows, ticked.audited.refunds)
    return _noted(world, *parts, *news_of) or "nothing to look at"


async def webhook(world: World, actor: str, move: Move) -> object:
    """One of Stripe's events is delivered; which one is late, doubled or lost, the dice say."""
    told = list(world.twin.accounts[0].events)
    connected = await world.of(world.scope)
    if not told or connected is None or world.setting.deaf:
        return "nothing to tell"
    event = views.news(told[move.number % len(told)])
    rule = await news.take(world.deps(actor), connected, world.scope, event)
    return f"{event.type}: {_noted(world, [rule] if rule else []) or 'no news'}"


async def looks(world: World, actor: str, move: Move) -> object:
    """Somebody opens an invoice that is under way."""
    rule = await repair.look_once(world.deps(actor), world.scope, world.invoice(move.invoice))
    return _noted(world, [rule] if rule else []) or "nothing to ask"


async def opens_page(world: World, actor: str, move: Move) -> object:
    """The customer opens the hosted page, and keeps the secret for ever."""
    invoice = world.invoice(move.invoice)
    shown = await page.open_page(world.deps(actor), world.scope, invoice)
    if shown.client_secret is not None and shown.intent_id is not None:
        world.secrets.append((invoice, shown.intent_id, shown.client_secret))
    return shown.state


async def voids(world: World, actor: str, move: Move) -> object:
    """An operator voids one invoice."""
    invoice = world.invoice(move.invoice)
    return _closed(world, await close.void(world.deps(actor), world.scope, invoice, reason=WHY))


async def writes_off(world: World, actor: str, move: Move) -> object:
    """An operator writes one invoice off."""
    invoice = world.invoice(move.invoice)
    return _closed(
        world, await close.write_off(world.deps(actor), world.scope, invoice, reason=WHY)
    )


async def paid_elsewhere(world: World, actor: str, move: Move) -> object:
    """An operator records that one invoice was paid by bank transfer."""
    invoice = world.invoice(move.invoice)
    paid = await close.paid_elsewhere(world.deps(actor), world.scope, invoice, reference=WHY)
    return _closed(world, paid)


async def amends(world: World, actor: str, move: Move) -> object:
    """An operator changes what is due."""
    invoice, amount = world.invoice(move.invoice), AMOUNT * move.number % (2 * AMOUNT)
    return _closed(
        world,
        await amend(world.deps(actor), world.scope, invoice, amount_due=amount, reason=WHY),
    )


async def final(world: World, actor: str, move: Move) -> object:
    """Dunning's final action on one invoice."""
    action = tuple(FinalAction)[move.number % len(FinalAction)]
    invoice = world.invoice(move.invoice)
    done = await final_action(world.deps(actor), world.scope, invoice, action, reason=WHY)
    return _closed(world, done) if done else "skipped"


async def credit(world: World, actor: str, move: Move) -> object:
    """The customer gets credit; what it covers is settled without Stripe."""
    deps, given = world.deps(actor), {"invoice_id": world.invoice(move.invoice)}
    ((customer,),) = world.db.execute(statement("customer"), {**world.scope.params, **given})
    await balances.give(
        deps.db,
        world.scope,
        CustomerId(customer),
        amount=2 * AMOUNT,
        currency="eur",
        reason=WHY,
        actor=actor,
    )
    return ", ".join(await settle_without_stripe(deps, world.scope, limit=LIMIT)) or "kept"


async def refund(world: World, actor: str, move: Move) -> object:
    """An operator gives a payment back, in part or whole."""
    given = {"invoice_id": world.invoice(move.invoice)}
    rows = world.db.execute(statement("payment"), {**world.scope.params, **given})
    if not rows:
        return "nothing was paid"
    amount = None if move.number % 2 else AMOUNT // 2
    payment = PaymentId(rows[0][0])
    back = await refunds.refund(world.deps(actor), world.scope, payment, amount, WHY)
    return f"{_noted(world, [back.rule])} {back.state}"


def _noted(world: World, *rules: Iterable[str]) -> str:
    found = {rule for some in rules for rule in some}
    world.rows |= found
    return " ".join(sorted(found))


def _closed(world: World, closed: Closed) -> str:
    return f"{_noted(world, [closed.rule])} {closed.status}"


KINDS: Final[Mapping[str, Labour]] = {
    "worker": work,
    "preparer": prepare,
    "operator": operator,
    "dunning": dunning,
    "sweep": sweeps,
    "tick": ticks,
    "webhook": webhook,
    "reader": looks,
    "page": opens_page,
    "voider": voids,
    "writer-off": writes_off,
    "cashier": paid_elsewhere,
    "amender": amends,
    "finisher": final,
    "creditor": credit,
    "refunder": refund,
}
"""What a process of each kind does."""

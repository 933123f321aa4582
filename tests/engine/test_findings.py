"""What a model of the prepared mode found, as real races on real rows (P5, P11, P13)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from typing_extensions import override

from anchorhold.twin.faults import FaultKind
from tests.engine.charging import charge, ends, fails
from tests.engine.left import left
from tests.engine.lost import crashed, unknown
from tests.engine.rig import Gate, Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import AtStripe

T = TypeVar("T")
WRITTEN_OFF = "UPDATE anchorhold.invoice SET status = 'uncollectible'"


class Meanwhile(Gate):
    """Something happens right behind one step."""

    def __init__(self, name: str, count: int, act: Callable[[], object]) -> None:
        super().__init__()
        self.point = (name, count)
        self.act = act

    @override
    async def through(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """See `Gate.through`."""
        result = await super().through(name, act)
        if (name, self.passed.count(name)) == self.point:
            self.act()
        return result


async def test_p11_an_owner_that_finds_its_invoice_written_off_leaves_the_hold(
    world: Rig,
) -> None:
    """Released, nobody would cancel the intent any more (F7)."""
    invoice = await world.invoice()
    await world.prepare()
    claims = await world.claim_due()
    world.later(minutes=6)
    world.sql(WRITTEN_OFF)
    (charged,) = await world.charge_all(claims)
    assert (charged.rule, charged.saved) == ("R1", None)
    assert not left(world, invoice).free
    await world.recover()
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert left(world, invoice).free
    await standing_checks(world)


async def test_p11_a_write_off_between_the_sweeps_look_and_its_write_is_not_missed(
    world: Rig,
) -> None:
    """Hold, counter and attempt are as they were read; only the status is not (F8)."""
    invoice = await crashed(world, When.BEFORE)
    gate = Meanwhile("db checks._attempts", 2, lambda: world.sql(WRITTEN_OFF))
    await world.tick(world.deps(gate))
    assert gate.point in gate.points()
    assert not left(world, invoice).free
    await world.recover()
    assert AtStripe(world).intents(invoice) == ["canceled"]
    await standing_checks(world)


async def test_p5_an_unclear_result_saved_between_look_and_write_is_not_cleared(
    world: Rig,
) -> None:
    """The owner's late `unknown` changes neither hold nor counter, only the attempt (H2)."""
    invoice = await crashed(world, When.BEFORE)
    late = (
        "UPDATE anchorhold.attempt SET state = 'unknown'; "
        "UPDATE anchorhold.invoice SET payment_status = 'unknown'"
    )
    gate = Meanwhile("db checks._attempts", 2, lambda: world.sql(late))
    await world.tick(world.deps(gate))
    assert left(world, invoice).payment_status == "unknown"
    assert not left(world, invoice).free
    await ends(world, invoice, paid=True)


async def test_p5_no_invoice_stays_unknown_without_a_hold(world: Rig) -> None:
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    await world.tick()
    assert (left(world, invoice).payment_status, left(world, invoice).free) == ("pending", True)
    await ends(world, invoice, paid=True)


async def test_p13_an_attempt_that_was_not_sent_does_not_occupy_its_counter(world: Rig) -> None:
    invoice, charged = await charge(world, fault=fails(FaultKind.REFUSED))
    assert charged.saved == "not_sent"
    world.later(minutes=1)
    await world.charge_due()
    seqs = world.sql("SELECT seq, state FROM anchorhold.attempt ORDER BY id")
    assert seqs == [(0, "not_sent"), (0, "succeeded")]
    await ends(world, invoice, paid=True)


async def test_a_claim_of_a_flagged_account_is_not_made(world: Rig) -> None:
    await world.invoice()
    await world.prepare()
    world.sql(
        "UPDATE anchorhold.connection SET refused_at = anchorhold.now(), refused_reason = 'no'"
    )
    assert await world.claim_due() == []

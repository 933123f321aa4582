"""A real process is killed by SIGKILL at each boundary of a charge; the invoice is paid once."""

import signal
from collections.abc import AsyncGenerator, Iterator

import pytest
import pytest_asyncio

from anchorhold.twin.server import TwinServer, serve
from tests.engine.flows import DIRECT, FLOWS
from tests.engine.killed import Job, Killer, killer
from tests.engine.rig import Rig, When
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import AtStripe
from tests.engine.test_boundaries import boundaries

BOUNDARIES = boundaries(FLOWS[0])
DIRECTLY = boundaries(DIRECT[0])


@pytest.fixture(scope="module")
def kills() -> Iterator[Killer]:
    """The program that forks the processes to be killed."""
    with killer() as program:
        yield program


@pytest_asyncio.fixture
async def server(world: Rig) -> AsyncGenerator[TwinServer]:
    """The world's twin over HTTP as well."""
    server = await serve(world.twin)
    yield server
    await server.stop()


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("point", BOUNDARIES, ids=lambda point: f"{point[0]} #{point[1]}")
async def test_case_a20_whoever_is_killed_there_leaves_one_payment(
    world: Rig, server: TwinServer, kills: Killer, point: tuple[str, int], when: When
) -> None:
    invoice = await world.invoice()
    job = Job(world.conninfo, world.scope.account_id, server.url, *point, when)
    assert await kills.run(job) == signal.SIGKILL, "the charge did not come by this boundary"
    await world.recover()
    assert world.row(invoice)["status"] == "paid"
    assert AtStripe(world).charges(invoice) == ["succeeded"]
    await standing_checks(world)


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("point", DIRECTLY, ids=lambda point: f"{point[0]} #{point[1]}")
async def test_case_a20_so_does_whoever_charges_directly(
    direct: Rig, server: TwinServer, kills: Killer, point: tuple[str, int], when: When
) -> None:
    invoice = await direct.invoice()
    job = Job(direct.conninfo, direct.scope.account_id, server.url, *point, when, "direct")
    assert await kills.run(job) == signal.SIGKILL, "the charge did not come by this boundary"
    await direct.recover()
    assert direct.row(invoice)["status"] == "paid"
    assert AtStripe(direct).charges(invoice) == ["succeeded"]
    await standing_checks(direct)


def test_there_are_boundaries_on_both_sides_of_the_confirm() -> None:
    names = [name for name, _ in BOUNDARIES]
    at = names.index("stripe confirm_intent")
    assert names[at - 1 : at + 2] == [
        "db holds.recheck",
        "stripe confirm_intent",
        "db payments.settle",
    ]

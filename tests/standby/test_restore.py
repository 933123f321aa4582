"""A backup is restored that is older than what Stripe knows: nobody is charged twice."""

from collections.abc import Callable

import pytest

from tests.standby.servers import Server
from tests.standby.world import fleet, moved

LATER_S = 30 * 3600
"""Longer than Stripe keeps a key: only what was read back keeps the second payment away."""
SHIFT = "ALTER DATABASE anchorhold SET anchorhold.clock_shift = '30 hours'"


def copy(_: Server) -> None:
    """The files as they are: cluster, timeline and database are the original's."""


def point_in_time(server: Server) -> None:
    """Recovered to a point in time: a timeline of its own."""
    (server.data / "recovery.signal").touch()
    server.settings["restore_command"] = "false"


@pytest.mark.parametrize("kind", [copy, point_in_time])
async def test_a_backup_of_before_the_charges_charges_nobody_twice(
    primary: Server, kind: Callable[[Server], None]
) -> None:
    async with fleet(primary.conninfo) as made:
        await made.take_in(150, "known")
        await made.work(until=lambda: made.transport.confirms >= 30)
        restored = primary.backup(primary.root.parent / "restored", "-X", "fetch")
        await made.take_in(20, "lost", days=2)
        await made.work(until=lambda: made.transport.confirms >= 130)
    primary.kill()
    made.clock.advance(LATER_S)
    kind(restored)
    restored.start().wait_for("SELECT NOT pg_is_in_recovery()")
    restored.sql(SHIFT)
    async with moved(made, restored.conninfo) as again:
        await again.start_again()
        assert again.recovered()
        await again.finish()
        await again.audit()

"""A primary dies in mid-traffic and its standby takes over: nobody is charged twice (P2)."""

from collections.abc import Callable

from tests.standby.servers import CAUGHT_UP, Server, either
from tests.standby.world import Fleet, fleet, moved

COUNT = "SELECT count(*) FROM anchorhold.invoice"


def dies_at(fleet: Fleet, confirm: int, primary: Server, standby: Server) -> Callable[[], bool]:
    """In the middle of that charge the primary is killed and the standby promoted."""
    done: list[bool] = []

    def die() -> None:
        primary.kill()
        standby.promote()
        done.append(True)

    fleet.transport.at = (confirm, die)
    return lambda: bool(done)


async def test_an_asynchronous_standby_without_the_tail_charges_nobody_twice(
    primary: Server,
) -> None:
    """It knows neither half of the intents, nor any charge, nor the invoices that came last."""
    standby = primary.standby(primary.root.parent / "standby")
    async with fleet(either(primary, standby)) as made:
        await made.take_in(200, "known")
        await made.work(until=lambda: made.transport.confirms >= 40)
        primary.wait_for(CAUGHT_UP)
        standby.cut_off()
        await made.take_in(40, "lost", days=2)
        await made.work(until=dies_at(made, 220, primary, standby))
        await made.finish()
        await made.audit()
        assert await made.value(COUNT) == 200
        (counts,) = made.recovered()
        assert counts["V3"]
        assert counts["V1"]


async def test_a_synchronous_standby_has_lost_nothing_and_is_read_all_the_same(
    primary: Server,
) -> None:
    standby = primary.standby(primary.root.parent / "standby")
    primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    primary.sql("SELECT pg_reload_conf()")
    primary.wait_for("SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
    async with fleet(either(primary, standby)) as made:
        await made.take_in(200, "known")
        await made.work(until=dies_at(made, 100, primary, standby))
        standby.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
        standby.sql("SELECT pg_reload_conf()")
        await made.finish()
        await made.audit()
        assert await made.value(COUNT) == 200
        (counts,) = made.recovered()
        assert not {"V1", "V4", "V8", "V11", "V14"} & set(counts)


async def test_a_second_failover_in_the_middle_of_a_recovery_begins_another(
    primary: Server,
) -> None:
    """What the first recovery had written is lost with the second server."""
    home = primary.root.parent
    first, second = primary.standby(home / "first"), primary.standby(home / "second")
    async with fleet(either(primary, first)) as made:
        await made.take_in(60, "known")
        await made.work(until=lambda: made.transport.confirms >= 10)
        primary.wait_for("SELECT count(*) = 2 FROM pg_stat_replication")
        first.cut_off()
        second.cut_off()
        await made.work(until=dies_at(made, 55, primary, first))
        await made.start_again()
        assert made.recovered()
    first.kill()
    second.promote()
    async with moved(made, second.conninfo) as again:
        await again.finish()
        await again.audit()
        assert again.recovered()

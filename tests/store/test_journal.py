"""Every change of an invoice leaves its journal row in the same transaction."""

import pytest

from tests.store.scene import ACTOR, OURS, Scene
from tests.store.two import OneDb, two
from tests.store.writes import BATCH, WRITES, Wins, Write

TOLD = [write for write in WRITES if write.journal]
UNTOLD = [write for write in WRITES if not write.journal]
ROWS = "SELECT what, actor FROM anchorhold.journal WHERE entry > %s ORDER BY entry"
LAST = "SELECT coalesce(max(entry), 0) FROM anchorhold.journal"


def name(write: Write) -> str:
    return write.function


async def journal(db: OneDb, after: int) -> list[tuple[str, str]]:
    """What this session sees in the journal behind an entry."""
    cursor = await db.conn.execute(ROWS, [after])
    return [(what, actor) for what, actor in await cursor.fetchall()]


@pytest.mark.parametrize("write", TOLD, ids=name)
async def test_the_change_and_its_journal_row_are_one_transaction(
    write: Write, scene: Scene
) -> None:
    """Both are there before the commit, and neither is left when it does not come."""
    state = await write.arrange(scene)
    before, last = scene.rows(OURS), scene.value(LAST)
    async with two(scene.conninfo) as pair:
        assert write.won(await write.run(pair.first, scene.scope, scene, state))
        told = await journal(pair.first, last)
        assert await journal(pair.second, last) == []
        await pair.first.conn.rollback()
    assert set(told) == {(write.journal, ACTOR)}
    assert len(told) == (BATCH if write.wins is Wins.SHARED else write.rows)
    assert scene.rows(OURS) == before


@pytest.mark.parametrize("write", [w for w in TOLD if w.wins is Wins.ONE], ids=name)
async def test_who_loses_tells_nothing(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    assert write.won(await write.run(scene.db, scene.scope, scene, state))
    last = scene.value(LAST)
    assert not write.won(await write.run(scene.db, scene.scope, scene, state))
    rows = scene.sql("SELECT what FROM anchorhold.journal WHERE entry > %(last)s", last=last)
    assert [what for (what,) in rows if what != "payment.known"] == []


@pytest.mark.parametrize("write", UNTOLD, ids=name)
async def test_what_tells_nothing_has_its_reason(write: Write, scene: Scene) -> None:
    state = await write.arrange(scene)
    last = scene.value(LAST)
    assert write.won(await write.run(scene.db, scene.scope, scene, state))
    assert scene.value(LAST) == last
    assert write.untold

"""No statement reads or changes a row of another account or mode."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from psycopg import errors

from anchorhold.domain.payment import Source
from anchorhold.domain.scope import Scope
from anchorhold.store import payments
from tests.store import asking, billing, direct, dunned, news, paging, telling
from tests.store.reads import READS, UNSCOPED, Read
from tests.store.scene import ACTOR, OURS, STRANGERS, Scene, success
from tests.store.statements import statements
from tests.store.writes import WRITES, Write

SCOPES = [pytest.param(scope, id=f"{scope.account_id} {scope.livemode}") for scope in STRANGERS]
SCOPED = [write for write in WRITES if write.scoped]


def name(write: Write) -> str:
    return write.function


def test_every_read_of_the_store_is_in_the_table() -> None:
    known = {function for read in READS for function in read.functions} | set(UNSCOPED)
    known |= {write.function for write in WRITES}
    assert known == {row.function for row in statements()}


@pytest.mark.parametrize("stranger", SCOPES)
@pytest.mark.parametrize("write", SCOPED, ids=name)
async def test_a_stranger_changes_nothing_of_ours(
    write: Write, stranger: Scope, scene: Scene
) -> None:
    state = await write.arrange(scene)
    before = scene.rows(OURS)
    with suppress(errors.ForeignKeyViolation):
        assert not write.won(await write.run(scene.db, stranger, scene, state))
    assert scene.rows(OURS) == before


@pytest.mark.parametrize("write", WRITES, ids=name)
async def test_we_change_nothing_of_strangers_with_the_same_ids(write: Write, scene: Scene) -> None:
    for stranger in STRANGERS:
        await write.arrange(replace(scene, scope=stranger))
    state = await write.arrange(scene)
    scene.any_sql(SAME_IDS)
    before = {stranger: scene.rows(stranger) for stranger in STRANGERS}
    assert write.won(await write.run(scene.db, OURS, scene, state))
    assert {stranger: scene.rows(stranger) for stranger in STRANGERS} == before


# An attempt's id is made by each claim; here the strangers' have ours, as everything else has.
SAME_IDS = """
    WITH ours AS (
        SELECT invoice_id, seq, id FROM anchorhold.attempt
         WHERE account_id = 'acc_ours' AND NOT livemode
    ), renamed AS (
        UPDATE anchorhold.attempt a SET id = ours.id FROM ours
         WHERE (a.account_id <> 'acc_ours' OR a.livemode)
           AND (a.invoice_id, a.seq) = (ours.invoice_id, ours.seq)
    )
    UPDATE anchorhold.invoice i SET hold_attempt = ours.id FROM ours
     WHERE (i.account_id <> 'acc_ours' OR i.livemode) AND i.hold_attempt IS NOT NULL
       AND (i.id, i.charge_seq) = (ours.invoice_id, ours.seq)
"""


@pytest.mark.parametrize("read", READS, ids=str)
async def test_what_we_read_is_the_same_whatever_strangers_have(read: Read, scene: Scene) -> None:
    await everything(scene)
    alone = timeless(await read.run(scene.db, OURS))
    for stranger in STRANGERS:
        await everything(replace(scene, scope=stranger))
    scene.any_sql(SAME_IDS)
    assert timeless(await read.run(scene.db, OURS)) == alone


def timeless(answer: Any) -> Any:
    """The answer without the moment at which it was given."""
    if isinstance(answer, list):
        return [timeless(row) for row in answer]
    return replace(answer, now=None) if hasattr(answer, "now") else answer


@pytest.mark.parametrize("read", READS, ids=str)
async def test_a_stranger_reads_nothing_of_ours(read: Read, scene: Scene) -> None:
    await everything(scene)
    assert await read.run(scene.db, OURS) != read.nothing
    scene.sql("DELETE FROM anchorhold.connection WHERE account_id = 'acc_other' OR livemode")
    for stranger in STRANGERS:
        assert await read.run(scene.db, stranger) == read.nothing


async def everything(scene: Scene) -> None:
    """The mode's invoice 1 is held after a short payment, which opened a notice, and so on."""
    (claim,) = await scene.sending()
    token = claim.token
    less = success(token.invoice_id, amount=100)
    assert await payments.settle(
        scene.db, scene.scope, token.invoice_id, less, Source.FOLLOWER, actor=ACTOR
    )
    await scene.due()
    await scene.rich()
    await scene.given_back()
    await direct.presumed_none(scene, token.invoice_id)
    await news.heard(scene, token.invoice_id)
    await telling.everything(scene)
    await billing.everything(scene)
    await dunned.everything(scene)
    await paging.everything(scene)
    await asking.everything(scene)

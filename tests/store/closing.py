"""Closing as the tests of the store run it: each write in a scope, on what a scene arranged."""

from dataclasses import replace
from typing import Any

from anchorhold.domain.attempt import AttemptKind, Cause
from anchorhold.domain.closing import Act, ending
from anchorhold.domain.ids import CustomerId
from anchorhold.domain.scope import Scope
from anchorhold.domain.sweep import OPEN
from anchorhold.store import closes, final_writes, pages
from anchorhold.store import credits as credit
from anchorhold.store.closes import Release
from anchorhold.store.db import Db
from tests.store.scene import ACTOR, Scene


async def claim_close(db: Db, scope: Scope, scene: Scene, ids: Any) -> Any:
    """Somebody's claim to close the invoice."""
    return await closes.claim(db, scope, scene.timing, ids[0], AttemptKind.CLOSE, actor=ACTOR)


async def release(db: Db, scope: Scope, _: Scene, held: Any) -> Any:
    """The one who closes lets go."""
    token = replace(held[0].token, scope=scope)
    nothing = Release("C10", Cause.RATE_LIMITED, pause_s=60)
    return await closes.release(db, token, nothing, statuses=OPEN, actor=ACTOR)


async def finish(db: Db, scope: Scope, _: Scene, held: Any) -> Any:
    """The one who closes makes it void."""
    own = replace(held[0], token=replace(held[0].token, scope=scope))
    return await final_writes.finish(
        db, own, ending(Act.VOID, "made twice"), rule="C4", actor=ACTOR
    )


async def amend(db: Db, scope: Scope, _: Scene, held: Any) -> Any:
    """The one who changes the amount writes it."""
    own = replace(held[0], token=replace(held[0].token, scope=scope))
    return await final_writes.amend(
        db, own, amount_due=5000, reason="late delivery", rule="C4", actor=ACTOR
    )


async def give(db: Db, scope: Scope, _: Scene, ids: Any) -> Any:
    """An operator gives the invoice's customer credit."""
    return await credit.give(
        db,
        scope,
        CustomerId(f"cus_{ids[0][4:]}"),
        amount=500,
        currency="eur",
        reason="goodwill",
        actor=ACTOR,
    )


async def take_for_a_person(db: Db, scope: Scope, _: Scene, rows: Any) -> Any:
    """A person asks for the next intent."""
    return await pages.take_unprepared(db, scope, rows[0].invoice_id, page=False, lease_s=60)

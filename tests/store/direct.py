"""TABLE: the writes of direct charges: how each is met, what it compares, what it touches."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anchorhold.domain.account import AfterPresumedNone, ChargeMode, Modes, SweepMode
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.hold import Claim
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store import accounts, checks, direct, presumed
from anchorhold.store.db import Db
from tests.store import million
from tests.store.scene import ACTOR, OURS, PAST, STALE, Scene

DIRECT = Modes(ChargeMode.DIRECT, SweepMode.FENCE, AfterPresumedNone.RECHARGE)
BATCH = 3
PRESUMED = """
    INSERT INTO anchorhold.attempt OVERRIDING SYSTEM VALUE
    SELECT (jsonb_populate_record(a, '{"id": "att_0", "seq": -1, "charge_mode": "direct",
                                       "state": "presumed_none"}')).*
      FROM anchorhold.attempt a
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s
       AND invoice_id = %(invoice_id)s
"""


async def due(scene: Scene, count: int = 1) -> list[InvoiceId]:
    """Open invoices that are due, of accounts that charge directly."""
    for (account_id,) in scene.sql("SELECT id FROM anchorhold.account"):
        await accounts.set_modes(scene.db, account_id, DIRECT)
    return [row.invoice_id for row in await scene.unprepared(count)]


async def claimed(scene: Scene, count: int = 1) -> list[Claim]:
    """Invoices held by somebody who has not sent yet."""
    await due(scene, count)
    return await direct.claim_due(scene.db, scene.scope, scene.timing, limit=count, actor=ACTOR)


async def sending(scene: Scene, count: int = 1) -> list[Claim]:
    """Invoices whose create may be on its way."""
    claims = await claimed(scene, count)
    for claim in claims:
        assert await recheck(scene.db, scene.scope, scene, [claim])
    return claims


async def stale(scene: Scene, count: int = 1) -> list[Claim]:
    """Invoices whose owner sent and was not heard of again; their holds have ended."""
    claims = await sending(scene, count)
    scene.sql(STALE, past=PAST, **scene.scope.params)
    return [
        replace(claim, token=replace(claim.token, hold_until=claim.token.hold_until - PAST))
        for claim in claims
    ]


async def facts(scene: Scene) -> Any:
    """What a check read of such an invoice."""
    (claim,) = await stale(scene)
    return await checks.facts(scene.db, scene.scope, claim.token.invoice_id)


async def taken_over(scene: Scene) -> Any:
    """An invoice that the sweep fences at this moment."""
    over = await direct.take_over(scene.db, await facts(scene), scene.timing, actor=ACTOR)
    assert over is not None
    return over


async def presumed_none(scene: Scene, invoice_id: InvoiceId) -> None:
    """An earlier attempt of the invoice, of which Stripe showed nothing for a day."""
    scene.any_sql(PRESUMED, invoice_id=invoice_id, **scene.scope.params)


async def recheck(db: Db, scope: Scope, scene: Scene, claims: list[Claim]) -> Any:
    """The owner's re-check."""
    claim = replace(claims[0], token=replace(claims[0].token, scope=scope))
    return await direct.recheck(
        db,
        claim,
        scene.timing,
        key=f"charge-{claim.token.invoice_id}-{claim.token.seq}",
        params={"amount": claim.amount, "confirm": True},
        deadline_s=30,
    )


async def _take_over(db: Db, scope: Scope, scene: Scene, read: Any) -> Any:
    mine = replace(read, token=replace(read.token, scope=scope))
    return await direct.take_over(db, mine, scene.timing, actor=ACTOR)


async def _give_back(db: Db, scope: Scope, scene: Scene, over: Any) -> Any:
    token = replace(over.token, scope=scope)
    return await direct.give_back(db, token, hold_until=over.old_end, error="409", actor=ACTOR)


async def _interrupted(db: Db, scope: Scope, scene: Scene, claims: list[Claim]) -> Any:
    token = replace(claims[0].token, scope=scope)
    return await direct.interrupted(db, token, actor=ACTOR)


async def _claim_due(db: Db, scope: Scope, scene: Scene, _: Any) -> Any:
    return await direct.claim_due(db, scope, scene.timing, limit=BATCH, actor=ACTOR)


async def _claim(db: Db, scope: Scope, scene: Scene, ids: Any) -> Any:
    return await direct.claim(db, scope, scene.timing, ids[0], AttemptKind.COLLECT, actor=ACTOR)


OWN_ROW = "its own row tells it, with its time"
WRITES: tuple[Mapping[str, Any], ...] = (
    {
        "function": "direct.claim",
        "arrange": due,
        "run": _claim,
        "journal": "attempt.claimed",
    },
    {"function": "direct.recheck", "arrange": claimed, "run": recheck, "untold": OWN_ROW},
    {
        "function": "direct.take_over",
        "arrange": facts,
        "run": _take_over,
        "journal": "hold.taken_over",
    },
    {
        "function": "direct.give_back",
        "arrange": taken_over,
        "run": _give_back,
        "journal": "hold.kept",
    },
    {
        "function": "direct.interrupted",
        "arrange": sending,
        "run": _interrupted,
        "journal": "attempt.interrupted",
    },
)
"""Each has one winner."""

SHARED: tuple[Mapping[str, Any], ...] = (
    {
        "function": "direct.claim_due",
        "arrange": lambda scene: due(scene, 2 * BATCH),
        "run": _claim_due,
        "journal": "attempt.claimed",
        "won": lambda rows: len(rows) == BATCH,
    },
)
"""A batch: nobody waits, and no row is given out twice."""

MODES: tuple[Mapping[str, Any], ...] = (
    {
        "function": "accounts.set_modes",
        "arrange": due,
        "run": lambda db, scope, scene, ids: accounts.set_modes(db, scope.account_id, DIRECT),
        "untold": "no invoice changes",
        "scoped": False,
    },
)
"""A stamp: the second waits and writes the same again."""

_OWN_HOLD = ("the hold is another one", "the hold is another attempt's", "the counter moved")
_CLAIM = (
    "it was written off",
    "it is held",
    "it was held and is not looked at yet",
    "it follows an intent",
    "all was paid",
    "it has an intent",
    "Stripe refused its set-up",
    "the customer has no method",
    "the customer is of another account at Stripe",
    "the mode's key was refused",
    "another account at Stripe is connected",
)
GUARDS: Mapping[str, tuple[str, ...]] = {
    "direct.claim": _CLAIM,
    "direct.claim_due": (
        *_CLAIM,
        "it is not due",
        "only a person collects it",
        "the customer has to act",
        "its last charge was declined",
    ),
    "direct.recheck": (
        *_OWN_HOLD,
        "it was written off",
        "its answer was unclear",
        "it has an intent",
        "something was paid",
        "its currency is another one",
        "its hold ends soon",
        "the attempt is not claimed",
        "the attempt was superseded",
    ),
    "direct.take_over": (
        *_OWN_HOLD,
        "it was written off",
        "its hold is live",
        "the attempt was superseded",
        "the attempt was declined",
    ),
    "direct.give_back": _OWN_HOLD,
    "direct.interrupted": ("the attempt was superseded", "the attempt was declined"),
}
"""What each compares, as the one thing that moved."""


def _unprepared() -> InvoiceId:
    return InvoiceId(f"inv_{million.number('unprepared', 1)}")


async def _claim_of_many(db: Db, timing: Any) -> Any:
    await accounts.set_modes(db, OURS.account_id, DIRECT)
    return await direct.claim(db, OURS, timing, _unprepared(), AttemptKind.COLLECT, actor=ACTOR)


async def _batch_of_many(db: Db, timing: Any, limit: int) -> Any:
    await accounts.set_modes(db, OURS.account_id, DIRECT)
    return await direct.claim_due(db, OURS, timing, limit=limit, actor=ACTOR)


def cases(timing: Any, limit: int) -> tuple[tuple[Any, ...], ...]:
    """Function, pages, call, note, whether the million has such a row."""
    return (
        ("direct.claim_due", 60, lambda db, _: _batch_of_many(db, timing, limit), "", False),
        ("direct.claim", 60, lambda db, _: _claim_of_many(db, timing)),
        ("direct.recheck", 60, lambda db, held: direct.recheck(
            db, _claim_held(held), timing, key="k", params={}, deadline_s=30), "", False),
        ("direct.take_over", 60, lambda db, held: _over_many(db, timing), "", False),
        ("direct.give_back", 60, lambda db, held: direct.give_back(
                db, held.stale, hold_until=held.stale.hold_until, error="", actor=ACTOR)),
        ("direct.interrupted", 60, lambda db, held: direct.interrupted(
            db, held.live, actor=ACTOR), "", False),
        ("presumed.of_invoice", 60, lambda db, _: presumed.of_invoice(
            db, OURS, _unprepared()), "", False),
    )  # fmt: skip


def _claim_held(held: Any) -> Claim:
    return Claim(held.live, AttemptKind.AUTO, None, 14900, "eur", "pm", False, "acct_1")


async def _over_many(db: Db, timing: Any) -> Any:
    read = await checks.facts(db, OURS, InvoiceId(f"inv_{million.number('stale', 1)}"))
    assert read is not None
    return await direct.take_over(db, read, timing, actor=ACTOR)

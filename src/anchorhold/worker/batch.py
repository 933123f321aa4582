"""One batch of an account and mode: prepare what is not ready, claim what is due, charge it.

Any number of processes do this at once; leases and claims share the rows out.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from anchorhold.domain.account import ChargeMode
from anchorhold.domain.hold import Claim
from anchorhold.domain.outcome import ENDS, Meaning
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.charge import Charged
from anchorhold.engine.claim import claim_due
from anchorhold.engine.credit import settle_without_stripe
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.prepare import Prepared, prepare_intent, set_up_customer
from anchorhold.store import customers, intents
from anchorhold.stripe.breaker import Breaker, BreakerState
from anchorhold.worker.charges import Charges
from anchorhold.worker.stop import Stop
from anchorhold.worker.wake import Nobody, Wake

BATCH: Final = 20
AFTER_HOLD: Final = timedelta(seconds=1)

PAUSED: Final = (Meaning.NOT_SENT, Meaning.BACK_OFF)
PREPARED_AGAIN: Final = (Meaning.INTENT_CANCELED, Meaning.READ_INTENT)


def after_lease_s(timing: Timing) -> float:
    """When what was leased to a batch can be looked at again, should the batch have died."""
    return 1 + timing.lease_seconds


def comes_again_in_s(meaning: Meaning, timing: Timing) -> float | None:
    """After how many seconds an invoice can be charged again whose charge meant this."""
    if meaning in PAUSED:
        return 1 + ENDS[meaning].pause_s
    return after_lease_s(timing) if meaning in PREPARED_AGAIN else None


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch did: steps of preparing and charges by how they ended."""

    prepared: Counter[Prepared] = field(default_factory=Counter)
    claimed: int = 0
    charged: Counter[Meaning] = field(default_factory=Counter)

    @property
    def moved(self) -> bool:
        """Something came further, so there may be more to do at once."""
        return self.claimed > 0 or self.prepared[Prepared.DONE] > 0

    def facts(self) -> dict[str, object]:
        """The counts, for a line of the log."""
        return {
            "prepared": {step.value: count for step, count in self.prepared.items()},
            "claimed": self.claimed,
            "charged": {meaning.value: count for meaning, count in self.charged.items()},
        }


async def collect_batch(
    deps: Deps,
    scope: Scope,
    *,
    limit: int = BATCH,
    wake: Wake | None = None,
    charges: Charges | None = None,
    breaker: Breaker | None = None,
    stop: Stop | None = None,
) -> Batch:
    """Up to `limit` customers were set up, intents prepared and invoices charged, once each.

    What credit covers, or where nothing is due, is settled before anything is claimed. A full
    batch wakes the next one before it charges; each claim leaves a wake-up for the end of its
    hold. Nothing is claimed while `breaker` is open, as nothing could be sent, or once `stop` has
    asked.
    """
    wake = wake or Nobody()
    connected = await deps.providers.of(scope)
    if connected is None:
        return Batch()
    prepared = await _set_up(deps, connected, scope, wake, limit)
    prepared += await _prepare(deps, connected, scope, wake, limit)
    allowed = await _allowed(deps, scope, wake, breaker, limit)
    if stop is not None and stop.asked:
        allowed = 0
    if allowed:
        await settle_without_stripe(deps, scope, limit=limit)
    directly = connected.charge_mode is ChargeMode.DIRECT
    claims = (
        await _claim(deps, scope, wake, allowed, full=limit, directly=directly) if allowed else []
    )
    charged = await (charges or Charges()).charge_all(deps, claims)
    await _come_again(deps, scope, wake, charged)
    return Batch(prepared, len(claims), Counter(one.meaning for one in charged))


async def _set_up(
    deps: Deps, connected: Connected, scope: Scope, wake: Wake, limit: int
) -> Counter[Prepared]:
    rows = await customers.take_unready(
        deps.db, scope, limit=limit, lease_s=deps.timing.lease_seconds
    )
    await _after_taking(deps, scope, wake, len(rows), limit)
    works = [
        set_up_customer(deps, connected, scope, row)
        for row in rows
        if row.stripe_account == connected.stripe_account
    ]
    return await _all_of(deps, works)


async def _prepare(
    deps: Deps, connected: Connected, scope: Scope, wake: Wake, limit: int
) -> Counter[Prepared]:
    rows = await intents.take_unprepared(
        deps.db, scope, limit=limit, lease_s=deps.timing.lease_seconds
    )
    await _after_taking(deps, scope, wake, len(rows), limit)
    works = [
        prepare_intent(deps, connected, row)
        for row in rows
        if row.stripe_account == connected.stripe_account
    ]
    return await _all_of(deps, works)


async def _after_taking(deps: Deps, scope: Scope, wake: Wake, taken: int, limit: int) -> None:
    """A full batch means that there is more; and whoever took rows may die with them."""
    if taken == limit:
        await _ask(deps, wake.collect(scope))
    if taken:
        await _ask(deps, wake.collect(scope, in_s=after_lease_s(deps.timing)))


async def _all_of(deps: Deps, works: Sequence[Coroutine[Any, Any, Prepared]]) -> Counter[Prepared]:
    """How each ended; one that raises is logged, and its row comes again after its lease."""
    done: Counter[Prepared] = Counter()
    for result in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(result, Prepared):
            done[result] += 1
        else:
            deps.log.error("prepare.failed", exc_info=result)
    return done


async def _allowed(
    deps: Deps, scope: Scope, wake: Wake, breaker: Breaker | None, limit: int
) -> int:
    """How many may be claimed: none while the breaker is open, one to try the road again."""
    view = breaker.view() if breaker else None
    if view is None or view.state is BreakerState.CLOSED:
        return limit
    await _ask(deps, wake.collect(scope, in_s=view.opens_in_s + 1))
    return 1 if view.state is BreakerState.HALF_OPEN else 0


async def _claim(
    deps: Deps, scope: Scope, wake: Wake, limit: int, *, full: int, directly: bool
) -> list[Claim]:
    claims = await claim_due(deps, scope, limit=limit, directly=directly)
    if claims:
        ends = max(_looked_at(claim, deps.timing) for claim in claims)
        await _ask(deps, wake.check(scope, at=ends + AFTER_HOLD))
    if len(claims) == full:
        await _ask(deps, wake.collect(scope))
    return claims


def _looked_at(claim: Claim, timing: Timing) -> datetime:
    """When a check may look at the claim's hold, should its owner die."""
    wait_s = 0 if claim.intent_id else timing.sweep_wait_seconds
    return claim.token.hold_until + timedelta(seconds=wait_s)


async def _come_again(deps: Deps, scope: Scope, wake: Wake, charged: Iterable[Charged]) -> None:
    for seconds in {comes_again_in_s(one.meaning, deps.timing) for one in charged} - {None}:
        await _ask(deps, wake.collect(scope, in_s=seconds or 0))


async def _ask(deps: Deps, asking: Coroutine[Any, Any, None]) -> None:
    """A wake-up that could not be left behind is no reason not to charge what was claimed."""
    try:
        await asking
    except Exception:  # the tick comes anyway
        deps.log.error("wake.failed", exc_info=True)

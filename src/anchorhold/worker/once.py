"""One pass without jobs: a tick, then everything that is due, in this process."""

from collections import Counter
from dataclasses import dataclass, field

from anchorhold.domain.outcome import Meaning
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.prepare import Prepared
from anchorhold.engine.tick import Ticked, tick
from anchorhold.worker.batch import BATCH, collect_batch


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did."""

    ticked: Ticked
    prepared: Counter[Prepared] = field(default_factory=Counter)
    claimed: int = 0
    charged: Counter[Meaning] = field(default_factory=Counter)


async def run_once(deps: Deps, scope: Scope, *, limit: int = BATCH) -> Pass:
    """Stale holds were checked, followed intents looked at, and all that is due was charged once.

    What Stripe did not answer is left to the next pass.
    """
    ticked = await tick(deps, scope)
    prepared: Counter[Prepared] = Counter()
    charged: Counter[Meaning] = Counter()
    claimed = 0
    while (batch := await collect_batch(deps, scope, limit=limit)).moved:
        prepared += batch.prepared
        charged += batch.charged
        claimed += batch.claimed
    return Pass(ticked, prepared + batch.prepared, claimed, charged)

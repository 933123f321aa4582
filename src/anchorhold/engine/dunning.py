"""Dunning: failed invoices are tried again by their policy, and end by it (protocol section 10).

Any number of processes may do this at once. Who makes a step is decided by the step's conditional
write, and who charges by the hold's. Whoever dies in between leaves rows that say how far it came:
the next look decides from the attempts, and counts no step.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from anchorhold.domain.attempt import AttemptKind, AttemptState
from anchorhold.domain.dunning import (
    FINAL_AGAIN,
    LEAVES_OPEN,
    PAUSE,
    Next,
    StepKind,
    StepState,
    next_step,
)
from anchorhold.domain.ids import DunningRunId
from anchorhold.domain.payment import Verdict
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.charge import CARD_BUSY, CARD_SPENT, Charged, charge
from anchorhold.engine.claim import claim
from anchorhold.engine.deps import Deps
from anchorhold.engine.final_action import final_action
from anchorhold.store import dunning, dunning_policies, dunning_steps
from anchorhold.store.dunning import Run
from anchorhold.store.dunning_steps import Done

PAGE = 10
"""So many runs are taken at once; a lease lasts longer than their steps."""

OPENED_PAGE = 100


NOT_SENT = 3
"""So many retries in a row that could not be sent end a pass: there is no way to Stripe."""


class Stopped(StrEnum):
    """Why a pass ended before every due run was looked at."""

    BUDGET = "the time of the pass was up"
    NOT_SENT = f"{NOT_SENT} retries in a row could not be sent"


@dataclass(slots=True)
class Dunned:
    """What one pass did: runs opened, steps by what became of them, runs put off, why it stopped.

    `failed` is the first exception; the other runs had their step all the same.
    """

    opened: int = 0
    steps: Counter[StepState] = field(default_factory=Counter)
    waiting: int = 0
    stopped: Stopped | None = None
    failed: Exception | None = None
    unsent: int = 0

    def count(self, state: StepState) -> None:
        """One step came to this."""
        self.steps[state] += 1
        self.unsent = self.unsent + 1 if state is StepState.NOT_SENT else 0
        if self.unsent >= NOT_SENT:
            self.stopped = Stopped.NOT_SENT


async def dun(deps: Deps, scope: Scope) -> Dunned:
    """Failed invoices have their run, and every run that is due had its step or its next time.

    Nothing at all happens before somebody of the account and mode has a policy. Stops when its
    budget is spent, or when nothing can be sent. What a run raises is raised after the others.
    """
    dunned = Dunned()
    if not await dunning_policies.is_on(deps.db, scope):
        return dunned
    while opened := await dunning.open_runs(deps.db, scope, limit=OPENED_PAGE, actor=deps.actor):
        dunned.opened += len(opened)
    await _drain(deps, scope, dunned)
    if dunned.failed is not None:
        raise dunned.failed
    return dunned


async def _drain(deps: Deps, scope: Scope, dunned: Dunned) -> None:
    ends_at = deps.db.monotonic() + deps.timing.sweep_budget_seconds
    lease_s = deps.timing.hold_seconds
    while taken := await dunning.take(deps.db, scope, limit=PAGE, lease_s=lease_s):
        for run_id in taken:
            if deps.db.monotonic() >= ends_at:
                dunned.stopped = dunned.stopped or Stopped.BUDGET
            if dunned.stopped is not None:
                return
            await _one(deps, scope, DunningRunId(run_id), dunned)


async def _one(deps: Deps, scope: Scope, run_id: DunningRunId, dunned: Dunned) -> None:
    try:
        await _step(deps, scope, run_id, dunned)
    except Exception as error:  # the other runs have their step
        deps.log.error("dunning.failed", run=run_id, exc_info=True)
        dunned.failed = dunned.failed or error


async def _step(deps: Deps, scope: Scope, run_id: DunningRunId, dunned: Dunned) -> None:
    run = await dunning.look(deps.db, scope, run_id)
    if run is None:
        return
    coming = next_step(run.policy, run.facts)
    if not coming.is_due(run.facts.now):
        dunned.waiting += 1
        await dunning_steps.schedule(deps.db, scope, run, coming)
        return
    number = await dunning_steps.begin(deps.db, scope, run, coming, actor=deps.actor)
    if number is None:
        return
    act = _retry if coming.step is StepKind.RETRY else _finish
    done = await act(deps, scope, run)
    await dunning_steps.end(deps.db, scope, run, number, done, actor=deps.actor)
    dunned.count(done.state)


async def _retry(deps: Deps, scope: Scope, run: Run) -> Done:
    """One charge through the door that every charge takes; what comes next is read from the rows.

    What the bank did not decide counts as no try, and is looked at again after a pause.
    """
    claimed = await claim(deps, scope, run.invoice_id, AttemptKind.DUNNING)
    if claimed is None:
        return Done(StepState.SKIPPED, "it cannot be charged at this moment", _later(run, PAUSE))
    charged = await charge(deps, claimed)
    after = await dunning.look(deps.db, scope, run.id)
    state = _state_of(charged)
    if after is None:
        return Done(state, _said(charged))
    decided = state is StepState.DECLINED
    return Done(state, _said(charged), _later(after, timedelta() if decided else PAUSE))


def _later(run: Run, pause: timedelta) -> Next:
    """What comes next, and no sooner than after the pause."""
    coming = next_step(run.policy, run.facts)
    return replace(coming, at=max(coming.at, run.facts.now + pause))


def _state_of(charged: Charged) -> StepState:
    if charged.saved in {Verdict.PAID, Verdict.OVERPAID}:
        return StepState.PAID
    if charged.saved == AttemptState.FAILED:
        return StepState.DECLINED
    if charged.rule in {CARD_SPENT.rule, CARD_BUSY.rule}:
        return StepState.SKIPPED
    if charged.saved == AttemptState.NOT_SENT:
        return StepState.NOT_SENT
    return StepState.UNCLEAR


def _said(charged: Charged) -> str:
    return charged.meaning.replace("_", " ")


async def _finish(deps: Deps, scope: Scope, run: Run) -> Done:
    """The policy's final action, under the hold; one that fails is tried again after a day."""
    action = run.policy.final_action
    try:
        closed = await final_action(
            deps, scope, run.invoice_id, action, reason="every retry of its dunning was declined"
        )
    except Refusal as refusal:
        if refusal.code is Code.PAID_MEANWHILE:
            return Done(StepState.PAID, refusal.sentence)
        return Done(StepState.REFUSED, refusal.sentence, _later(run, FINAL_AGAIN))
    if closed is None:
        return Done(StepState.SKIPPED, "something is under way on it", _later(run, PAUSE))
    return Done(StepState.DONE, action.replace("_", " "), outcome=LEAVES_OPEN.get(action))

"""Dunning runs and their steps as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.dunning import Outcome, StepKind, StepState
from anchorhold.domain.ids import AccountId, CustomerId, DunningPolicyId, DunningRunId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, its invoice and its policy; the amount is in minor units.

    `next_at` and `next_step` say what comes next while the run goes on; `rule` is the row that says
    so, None until a worker has looked.
    """

    id: DunningRunId
    account_id: AccountId
    livemode: bool
    invoice_id: InvoiceId
    invoice_reference: str
    customer_id: CustomerId
    policy_id: DunningPolicyId
    policy_name: str
    amount_remaining: int
    currency: str
    step: int
    next_step: StepKind | None
    next_at: datetime
    rule: str | None
    paused_at: datetime | None
    paused_reason: str | None
    outcome: Outcome | None
    opened_at: datetime
    ended_at: datetime | None


_SELECT = """
SELECT r.id, r.account_id, r.livemode, r.invoice_id, i.reference AS invoice_reference,
       r.customer_id, r.policy_id, p.name AS policy_name,
       i.amount_due - i.amount_paid AS amount_remaining, i.currency, r.step, r.next_step,
       r.next_at, r.rule, r.paused_at, r.paused_reason, r.outcome, r.opened_at, r.ended_at
  FROM anchorhold.dunning_run r
  JOIN anchorhold.dunning_policy p
    ON p.account_id = r.account_id AND p.livemode = r.livemode AND p.id = r.policy_id
  JOIN anchorhold.invoice i
    ON i.account_id = r.account_id AND i.livemode = r.livemode AND i.id = r.invoice_id
 WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
"""


async def page(
    db: Db, scope: Scope, *, ended: bool, after: str | None, limit: int
) -> list[RunView]:
    """Up to `limit` runs that go on, or that have ended, newest first, from behind `after`."""
    return await db.all(
        _SELECT
        + given(
            (ended or None, " AND r.ended_at IS NOT NULL"),
            (not ended or None, " AND r.ended_at IS NULL"),
            (after, " AND r.id < %(after)s"),
        )
        + " ORDER BY r.id DESC LIMIT %(limit)s",
        RunView,
        **scope.params,
        after=after,
        limit=limit,
    )


async def count(db: Db, scope: Scope, *, ended: bool) -> int:
    """How many runs go on, or have ended."""
    found = await db.one(
        """
        SELECT count(*)
          FROM anchorhold.dunning_run
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND (ended_at IS NOT NULL) = %(ended)s
        """,
        int,
        **scope.params,
        ended=ended,
    )
    return found or 0


_NAMED = """
   AND r.id IN (
       SELECT %(name)s
        UNION ALL
       SELECT n.id FROM anchorhold.dunning_run n
        WHERE n.account_id = %(account_id)s AND n.livemode = %(livemode)s
          AND n.invoice_id = %(name)s
        UNION ALL
       SELECT n.id FROM anchorhold.dunning_run n
         JOIN anchorhold.invoice m
           ON m.account_id = n.account_id AND m.livemode = n.livemode AND m.id = n.invoice_id
        WHERE m.account_id = %(account_id)s AND m.livemode = %(livemode)s
          AND m.reference = %(name)s)
 ORDER BY r.id = %(name)s DESC
 LIMIT 1
"""


async def one(db: Db, scope: Scope, name: str) -> RunView | None:
    """The run with this id, or of the invoice with this id or reference, or None."""
    return await db.one(_SELECT + _NAMED, RunView, **scope.params, name=name)


@dataclass(frozen=True, slots=True)
class StepView:
    """One step of a run; `said` is what became of it in words."""

    number: int
    kind: StepKind
    state: StepState
    rule: str
    said: str
    actor: str
    begun_at: datetime
    ended_at: datetime | None


async def steps(db: Db, scope: Scope, run_id: DunningRunId) -> list[StepView]:
    """Every step of the run, oldest first."""
    return await db.all(
        """
        SELECT number, kind, state, rule, said, actor, begun_at, ended_at
          FROM anchorhold.dunning_step
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND run_id = %(run_id)s
         ORDER BY number
        """,
        StepView,
        **scope.params,
        run_id=run_id,
    )

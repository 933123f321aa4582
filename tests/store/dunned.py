"""TABLE: the writes and reads about dunning, as the other tables are."""

import json
from datetime import UTC, datetime
from typing import Any

from anchorhold.domain.closing import FinalAction
from anchorhold.domain.dunning import Next, Policy, StepKind, StepState
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import AttemptId, DunningPolicyId, DunningRunId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store import cards, dunning, dunning_policies, dunning_steps, views_dunning
from anchorhold.store.db import Db
from anchorhold.store.dunning import Run
from anchorhold.store.dunning_steps import Done
from tests.store.scene import ACTOR, OURS, Scene

BATCH = 3
POLICY = Policy((24, 72), None, "UTC", FinalAction.LEAVE)
POLICY_ID = DunningPolicyId("dpo_1")
ALL = DunningRunId("dun_everything")

FAIL = """
    UPDATE anchorhold.invoice SET payment_status = 'failed'
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = ANY(%(ids)s)
"""
RUNS = """
    INSERT INTO anchorhold.dunning_run
           (account_id, livemode, id, invoice_id, customer_id, policy_id)
    SELECT account_id, livemode, 'dun_' || substr(id, 5), id, customer_id, 'dpo_1'
      FROM anchorhold.invoice
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = ANY(%(ids)s)
    RETURNING id
"""
RUN = """
    INSERT INTO anchorhold.dunning_run
           (account_id, livemode, id, invoice_id, customer_id, policy_id)
    SELECT account_id, livemode, %(run_id)s, id, customer_id, 'dpo_1'
      FROM anchorhold.invoice
     WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(invoice_id)s
"""


async def policy(scene: Scene) -> Any:
    await dunning_policies.add(scene.db, scene.scope, POLICY_ID, "gentle", POLICY)


async def assigned(scene: Scene) -> Any:
    await policy(scene)
    await dunning_policies.assign(scene.db, scene.scope, POLICY_ID, None)


async def failed(scene: Scene, count: int = 2 * BATCH) -> Any:
    """Failed invoices that have no run yet."""
    await assigned(scene)
    ids = await scene.due(count)
    scene.sql(FAIL, ids=list(ids), **scene.scope.params)
    return ids


async def due(scene: Scene, count: int = 2 * BATCH) -> Any:
    """Runs whose next step has come; their ids."""
    ids = await failed(scene, count)
    return [id_ for (id_,) in scene.sql(RUNS, ids=list(ids), **scene.scope.params)]


async def one_run(scene: Scene) -> Any:
    (id_,) = await due(scene, 1)
    return DunningRunId(id_)


async def paused(scene: Scene) -> Any:
    id_ = await one_run(scene)
    assert await dunning.pause(scene.db, scene.scope, id_, reason="x", actor=ACTOR)
    return id_


async def looked(scene: Scene) -> Any:
    """A run that one caller has leased and looked at."""
    id_ = await one_run(scene)
    assert await dunning.take(scene.db, scene.scope, limit=1)
    return await dunning.look(scene.db, scene.scope, id_)


def coming(run: Run) -> Next:
    return Next(StepKind.RETRY, run.facts.now, "Y9")


async def begin(db: Db, scope: Scope, _: object, run: Run) -> Any:
    return await dunning_steps.begin(db, scope, run, coming(run), actor=ACTOR)


async def begun(scene: Scene) -> Any:
    run = await looked(scene)
    assert await begin(scene.db, scene.scope, scene, run) == 1
    return run


async def end(db: Db, scope: Scope, _: object, run: Run) -> Any:
    done = Done(StepState.DECLINED, "no", coming(run))
    return await dunning_steps.end(db, scope, run, 1, done, actor=ACTOR)


DECLINED = """
    INSERT INTO anchorhold.attempt
           (account_id, livemode, id, invoice_id, seq, kind, actor, state, found_status, amount,
            currency, stripe_account, stripe_customer_id, payment_method, idempotency_key, params,
            hold_until, sent_at, ended_at)
    VALUES (%(account_id)s, %(livemode)s, 'att_declined', %(invoice_id)s, 9, 'dunning', 'test',
            'failed', 'failed', 14900, 'eur', 'acct_1', 'cus_1', 'pm_dead', 'declined', '{}',
            now(), now(), now())
"""


async def everything(scene: Scene) -> None:
    """A run with a step that was begun, on an invoice of its own that was declined."""
    (invoice,) = await failed(scene, 1)
    scene.sql(RUN, run_id=ALL, invoice_id=invoice, **scene.scope.params)
    scene.sql(DECLINED, invoice_id=invoice, **scene.scope.params)
    run = await dunning.look(scene.db, scene.scope, ALL)
    assert run is not None
    assert await begin(scene.db, scene.scope, scene, run) == 1


ITSELF = "no invoice is touched: its row is the record"

# fmt: off
WRITES: tuple[dict[str, Any], ...] = (
    {"function": "dunning_policies.add", "arrange": lambda scene: scene.due(), "scoped": False,
     "untold": ITSELF,
     "run": lambda db, scope, scene, state: dunning_policies.add(
         db, scope, DunningPolicyId("dpo_new"), "new", POLICY)},
    {"function": "dunning.pause", "arrange": one_run, "journal": "dunning.paused",
     "run": lambda db, scope, scene, id_: dunning.pause(
         db, scope, id_, reason="x", actor=ACTOR)},
    {"function": "dunning.resume", "arrange": paused, "journal": "dunning.resumed",
     "run": lambda db, scope, scene, id_: dunning.resume(
         db, scope, id_, reason="x", actor=ACTOR)},
    {"function": "dunning_steps.begin", "arrange": looked, "untold": ITSELF, "run": begin},
    {"function": "dunning_steps.end", "arrange": begun, "journal": "dunning.step", "run": end},
)
"""What one caller does, and another does not."""

SHARED: tuple[dict[str, Any], ...] = (
    {"function": "dunning.open_runs", "arrange": failed, "journal": "dunning.opened", "won": bool,
     "run": lambda db, scope, scene, state: dunning.open_runs(
         db, scope, limit=BATCH, actor=ACTOR)},
    {"function": "dunning.take", "arrange": due, "untold": "a lease", "won": bool,
     "run": lambda db, scope, scene, state: dunning.take(db, scope, limit=BATCH)},
)
"""What several share out."""

STAMPS: tuple[dict[str, Any], ...] = (
    {"function": "dunning_policies.assign", "arrange": policy, "untold": ITSELF,
     "run": lambda db, scope, scene, state: dunning_policies.assign(db, scope, POLICY_ID, None)},
    {"function": "dunning_steps.schedule", "arrange": looked, "untold": ITSELF,
     "run": lambda db, scope, scene, run: dunning_steps.schedule(
         db, scope, run, coming(run))},
)
"""What the second writes again."""

MOVED: dict[str, str] = {
    "nobody has a policy": "DELETE FROM anchorhold.dunning_assignment",
    "each has its run": """
        INSERT INTO anchorhold.dunning_run
               (account_id, livemode, id, invoice_id, customer_id, policy_id)
        SELECT account_id, livemode, 'dun_' || substr(id, 5), id, customer_id, 'dpo_1'
          FROM anchorhold.invoice WHERE account_id = 'acc_ours' AND NOT livemode
    """,
    "the step has ended":
        "UPDATE anchorhold.dunning_step SET state = 'paid', ended_at = anchorhold.now()",
    **{
        sentence: f"UPDATE anchorhold.dunning_run SET {changes}"
        for sentence, changes in (
            ("the run is not due", "next_at = anchorhold.now() + interval '1 hour'"),
            ("the run is paused", "paused_at = anchorhold.now(), paused_reason = 'x'"),
            ("the run goes on", "paused_at = NULL, paused_reason = NULL"),
            ("the run has ended", "outcome = 'left', ended_at = anchorhold.now()"),
            ("another step was begun", "step = step + 1"),
        )
    },
}
"""What happens in between."""

GUARDS: dict[str, tuple[str, ...]] = {
    "dunning.open_runs": (
        "nobody has a policy", "each has its run", "it was written off", "it is held",
        "it follows an intent", "only a person collects it", "Stripe refused its set-up",
    ),
    "dunning.take": (
        "the run is not due", "the run is paused", "the run has ended", "it was written off",
        "it is held", "it follows an intent", "only a person collects it",
        "Stripe refused its set-up",
    ),
    "dunning.pause": ("the run is paused", "the run has ended"),
    "dunning.resume": ("the run goes on", "the run has ended"),
    "dunning_steps.schedule": ("another step was begun", "the run has ended"),
    "dunning_steps.begin": (
        "another step was begun", "the run is paused", "the run has ended", "it was written off",
        "it is held", "it follows an intent", "only a person collects it",
    ),
    "dunning_steps.end": ("the step has ended",),
}  # fmt: skip
"""Which of it each write notices."""

UNCONDITIONAL = {
    "dunning_policies.add": "held by the names' uniqueness",
    "dunning_policies.assign": "the newest choice counts",
}


async def _look(db: Db, scope: Scope) -> object:
    found = await dunning.look(db, scope, ALL)
    return found and (found.step, found.policy, found.facts.tries, found.facts.method)


async def _declines(db: Db, scope: Scope) -> int:
    token = Token(scope, InvoiceId("inv_1"), AttemptId("att_declined"), datetime.now(UTC), 9)
    return (await cards.declines(db, token)).known


READS: tuple[tuple[Any, ...], ...] = (
    ("dunning_policies.is_on", dunning_policies.is_on, False),
    ("dunning_policies.all_of", dunning_policies.all_of, []),
    ("dunning.look", _look),
    ("cards.declines", _declines, 0),
    ("views_dunning.page", lambda db, scope: views_dunning.page(
        db, scope, ended=False, after=None, limit=9), []),
    ("views_dunning.count", lambda db, scope: views_dunning.count(db, scope, ended=False), 0),
    ("views_dunning.one", lambda db, scope: views_dunning.one(db, scope, ALL)),
    ("views_dunning.steps", lambda db, scope: views_dunning.steps(db, scope, ALL), []),
)
"""What is read about runs and policies."""


def another(table: str, **changes: Any) -> str:
    return f"""
        INSERT INTO anchorhold.{table}
        SELECT (jsonb_populate_record(t, '{json.dumps(changes)}')).*
          FROM anchorhold.{table} t LIMIT 1
    """


def changed(table: str, changes: str) -> str:
    return f"UPDATE anchorhold.dunning_{table} SET {changes}"


ILLEGAL: dict[str, tuple[str, ...]] = {
    "dunning_policy_pkey": (another("dunning_policy", name="another"),),
    "dunning_policy_name": (another("dunning_policy", id="dpo_2"),),
    "dunning_policy_waits": (
        changed("policy", "waits_hours = '{}'"),
        changed("policy", "waits_hours = '{24,0}'"),
        changed("policy", "waits_hours = '{1,1,1,1,1,1,1,1}'"),
    ),
    "dunning_policy_final_action_check": (changed("policy", "final_action = 'sue'"),),
    # Two assignments of the default would leave the choice to chance.
    "dunning_assignment_once": (another("dunning_assignment"),),
    "dunning_run_pkey": (another("dunning_run", invoice_id="inv_another"),),
    "dunning_run_once": (another("dunning_run", id="dun_another"),),
    "dunning_run_step_check": (changed("run", "step = -1"),),
    "dunning_run_next_step_check": (changed("run", "next_step = 'sue', rule = 'Y9'"),),
    "dunning_run_outcome_check": (changed("run", "outcome = 'lost', ended_at = now()"),),
    "run_ends_with_an_outcome": (
        changed("run", "ended_at = now()"),
        changed("run", "outcome = 'left'"),
    ),
    "run_is_paused_with_a_reason": (
        changed("run", "paused_at = now()"),
        changed("run", "paused_reason = 'x'"),
    ),
    "run_knows_its_rule": (
        changed("run", "next_step = NULL"),
        changed("run", "rule = NULL"),
    ),
    "dunning_step_pkey": (another("dunning_step"),),
    "dunning_step_kind_check": (changed("step", "kind = 'sue'"),),
    "dunning_step_state_check": (changed("step", "state = 'lost', ended_at = now()"),),
    "step_ends_once": (changed("step", "state = 'paid'"), changed("step", "ended_at = now()")),
}
"""For each rule, the statements that it refuses."""

TABLES = ("dunning_policy", "dunning_assignment", "dunning_run", "dunning_step")


def cases(limit: int, inv: Any) -> list[tuple[Any, ...]]:
    """What each statement may touch at a million invoices, of which 20,000 failed."""
    run = DunningRunId(f"dun_{inv('failed')[4:]}")
    return [
        ("dunning.open_runs", 9000, lambda db, _: dunning.open_runs(
            db, OURS, limit=limit, actor=ACTOR)),
        ("dunning.take", 3000, lambda db, _: dunning.take(db, OURS, limit=limit)),
        ("dunning.look", 60, lambda db, _: dunning.look(db, OURS, run)),
        ("cards.declines", 2500, lambda db, held: cards.declines(db, held.live)),
        ("dunning.pause", 60, lambda db, _: dunning.pause(
            db, OURS, run, reason="x", actor=ACTOR)),
        ("dunning.resume", 60, lambda db, _: dunning.resume(
            db, OURS, run, reason="x", actor=ACTOR), "", False),
        ("dunning_steps.schedule", 60, lambda db, _: _at(db, run, schedule)),
        ("dunning_steps.begin", 60, lambda db, _: _at(db, run, begin)),
        ("dunning_steps.end", 60, lambda db, _: _at(db, run, end)),
        ("views_dunning.page", 1000, lambda db, _: views_dunning.page(
            db, OURS, ended=False, after=None, limit=limit)),
        ("views_dunning.one", 60, lambda db, _: views_dunning.one(db, OURS, run)),
        ("views_dunning.steps", 60, lambda db, _: views_dunning.steps(db, OURS, run)),
    ]


async def schedule(db: Db, scope: Scope, _: object, run: Run) -> Any:
    return await dunning_steps.schedule(db, scope, run, coming(run))


async def _at(db: Any, run_id: DunningRunId, act: Any) -> Any:
    run = await dunning.look(db, OURS, run_id)
    assert run is not None
    db.plans.clear()
    return await act(db, OURS, None, run)

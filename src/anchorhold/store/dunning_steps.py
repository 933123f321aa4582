"""Steps of a dunning run: claimed by one conditional write, and what became of each.

One function, one statement, one transaction.
"""

from dataclasses import dataclass

from anchorhold.domain.dunning import Next, Outcome, StepState
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db
from anchorhold.store.dunning import Run


async def schedule(db: Db, scope: Scope, run: Run, coming: Next) -> int | None:
    """The run waits for this step, or moved on (None).

    A payment method that came meanwhile has made it due: then it stays due.
    """
    return await db.one(
        """
        UPDATE anchorhold.dunning_run r
           SET next_step = %(next_step)s, rule = %(rule)s,
               next_at = CASE WHEN r.next_at <= anchorhold.now() THEN r.next_at
                              ELSE %(next_at)s END
         WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
           AND r.id = %(run_id)s AND r.step = %(step)s AND r.ended_at IS NULL
        RETURNING r.step
        """,
        int,
        **scope.params,
        run_id=run.id,
        step=run.step,
        next_step=coming.step,
        next_at=coming.at,
        rule=coming.rule,
    )


async def begin(db: Db, scope: Scope, run: Run, coming: Next, *, actor: str) -> int | None:
    """The step is this caller's, with its number; None: somebody else was first, or it is not due.

    From failed to claimed, in one conditional write (protocol section 10): the invoice is failed
    and free, the run goes on, and no other step was begun since it was looked at.
    """
    return await db.one(
        """
        WITH run AS (
            UPDATE anchorhold.dunning_run r
               SET step = r.step + 1, next_step = %(kind)s, rule = %(rule)s
              FROM anchorhold.invoice i
             WHERE r.account_id = %(account_id)s AND r.livemode = %(livemode)s
               AND r.id = %(run_id)s AND r.step = %(step)s
               AND r.ended_at IS NULL AND r.paused_at IS NULL
               AND i.account_id = r.account_id AND i.livemode = r.livemode
               AND i.id = r.invoice_id AND i.payment_status = 'failed'
               AND i.hold_until IS NULL AND i.collection = 'auto'
            RETURNING r.account_id, r.livemode, r.id, r.step
        )
        INSERT INTO anchorhold.dunning_step
               (account_id, livemode, run_id, number, kind, rule, actor)
        SELECT account_id, livemode, id, step, %(kind)s, %(rule)s, %(actor)s
          FROM run
        RETURNING number
        """,
        int,
        **scope.params,
        run_id=run.id,
        step=run.step,
        kind=coming.step,
        rule=coming.rule,
        actor=actor,
    )


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a step, in a word and in a person's words, and what comes next.

    `coming` None: the run ends with `outcome`, or has ended with its invoice.
    """

    state: StepState
    said: str
    coming: Next | None = None
    outcome: Outcome | None = None


_END = """
WITH step AS (
    UPDATE anchorhold.dunning_step t
       SET state = %(state)s, said = %(said)s, ended_at = anchorhold.now()
     WHERE t.account_id = %(account_id)s AND t.livemode = %(livemode)s
       AND t.run_id = %(run_id)s AND t.number = %(number)s AND t.state = 'claimed'
    RETURNING t.account_id, t.livemode, t.run_id, t.number, t.kind, t.state, t.rule
), run AS (
    UPDATE anchorhold.dunning_run r
       SET next_step = coalesce(%(next_step)s, r.next_step), rule = coalesce(%(rule)s, r.rule),
           next_at = CASE WHEN r.next_at <= anchorhold.now() THEN r.next_at
                          ELSE coalesce(%(next_at)s, r.next_at) END,
           outcome = %(outcome)s,
           ended_at = CASE WHEN %(outcome)s::text IS NOT NULL THEN anchorhold.now() END
      FROM step
     WHERE r.account_id = step.account_id AND r.livemode = step.livemode AND r.id = step.run_id
       AND r.step = step.number AND r.ended_at IS NULL
    RETURNING r.id, r.outcome
), told AS (
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, rule, detail)
    SELECT r.account_id, r.livemode, r.invoice_id, %(actor)s, 'dunning.step', step.rule,
           jsonb_strip_nulls(jsonb_build_object(
               'run_id', r.id, 'number', step.number, 'kind', step.kind, 'state', step.state,
               'said', nullif(%(said)s::text, ''), 'next_at', %(next_at)s::timestamptz))
      FROM step
      JOIN anchorhold.dunning_run r
        ON r.account_id = step.account_id AND r.livemode = step.livemode AND r.id = step.run_id
), finished AS (
    INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
    SELECT r.account_id, r.livemode, r.invoice_id, %(actor)s, 'dunning.finished',
           jsonb_build_object('run_id', r.id, 'outcome', run.outcome)
      FROM run
      JOIN anchorhold.dunning_run r
        ON r.account_id = %(account_id)s AND r.livemode = %(livemode)s AND r.id = run.id
     WHERE run.outcome IS NOT NULL
)
SELECT number FROM step
"""


async def end(db: Db, scope: Scope, run: Run, number: int, done: Done, *, actor: str) -> int | None:
    """The step has ended so and the run waits for the next one; None: it had ended before."""
    coming = done.coming
    return await db.one(
        _END,
        int,
        **scope.params,
        run_id=run.id,
        number=number,
        state=done.state,
        said=done.said,
        next_step=coming.step if coming else None,
        next_at=coming.at if coming else None,
        rule=coming.rule if coming else None,
        outcome=done.outcome,
        actor=actor,
    )

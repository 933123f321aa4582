"""`anchorhold dunning`: list, show, pause, resume; and `dunning policy`."""

from typing import Annotated

import typer

from anchorhold.cli import dunning_objects, dunning_policy, words
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.dunning import NEXT_STEP, StepKind
from anchorhold.engine import dunning_acts
from anchorhold.store import views_dunning
from anchorhold.store.views_dunning import RunView, StepView

app = noun(
    "What is tried again after a decline, and when.",
    "anchorhold dunning list",
    "anchorhold dunning show inv_…",
)
app.add_typer(dunning_policy.app, name="policy")

Name = Annotated[
    str, typer.Argument(metavar="RUN", help="Its id, or its invoice's id or reference.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept.")]

COMING = {StepKind.RETRY: "a retry", StepKind.FINAL: "the final action", None: "a first look"}
BECAUSE = {row.id: row.because for row in NEXT_STEP}


@verb(
    app,
    "list",
    "anchorhold dunning list",
    "anchorhold dunning list --ended --output json",
    listed=True,
)
async def list_(
    call: Call,
    *,
    ended: Annotated[bool, typer.Option("--ended", help="Those that have ended.")] = False,
) -> None:
    """List the runs that go on, newest first: which invoice, and what comes next."""
    async with session(call) as desk:
        await show_list(call, _listing(desk, ended=ended))


def _listing(desk: Session, *, ended: bool) -> Listing[RunView]:
    return Listing(
        again="anchorhold dunning list" + (" --ended" if ended else ""),
        columns=(
            Column("id", lambda row: row.id),
            Column("invoice", lambda row: row.invoice_reference),
            Column("due", lambda row: words.money(row.amount_remaining, row.currency), right=True),
            Column("steps", lambda row: str(row.step), right=True, from_width=100),
            Column("next", lambda row: _next(desk, row)),
            Column("policy", lambda row: row.policy_name, from_width=120),
        ),
        id_of=lambda row: row.id,
        to_object=dunning_objects.dunning_run,
        fetch=lambda after, limit: views_dunning.page(
            desk.db, desk.scope, ended=ended, after=after, limit=limit
        ),
        total=lambda: views_dunning.count(desk.db, desk.scope, ended=ended),
        empty="No runs." if ended else "Nothing is being tried again.",
    )


def _next(desk: Session, run: RunView) -> str:
    if run.outcome is not None:
        return f"{run.outcome.replace('_', ' ')} {desk.when.at(run.ended_at)}"
    if run.paused_reason is not None:
        return f"paused: {run.paused_reason}"
    return f"{COMING[run.next_step]} {desk.when.at(run.next_at)}"


@verb(app, "show", "anchorhold dunning show inv_…", "anchorhold dunning show dun_… --output json")
async def show(call: Call, name: Name) -> None:
    """Show one run: every step so far, what comes next, and why."""
    async with session(call) as desk:
        run = await dunning_acts.the_run(desk.app.deps, desk.scope, name)
        await _show(call, desk, run)


@verb(
    app,
    "pause",
    'anchorhold dunning pause inv_… --reason "promised to pay on Friday"',
    'anchorhold dunning pause dun_… --reason "disputed by phone" --output json',
)
async def pause(call: Call, name: Name, *, reason: Reason) -> None:
    """Begin no step of a run any more, until it is resumed.

    A retry that is under way comes to its end. The customer can still pay, which ends the run.
    """
    async with session(call) as desk:
        run = await dunning_acts.pause(desk.app.deps, desk.scope, name, reason=reason)
        await _show(call, desk, run)


@verb(
    app,
    "resume",
    'anchorhold dunning resume inv_… --reason "did not pay"',
    'anchorhold dunning resume dun_… --reason "solved" --output json',
)
async def resume(call: Call, name: Name, *, reason: Reason) -> None:
    """Go on with a paused run: what is overdue comes with the next tick."""
    async with session(call) as desk:
        run = await dunning_acts.resume(desk.app.deps, desk.scope, name, reason=reason)
        await _show(call, desk, run)


async def _show(call: Call, desk: Session, run: RunView) -> None:
    steps = await views_dunning.steps(desk.db, desk.scope, run.id)
    data = {
        **dunning_objects.dunning_run(run),
        "steps": [dunning_objects.dunning_step(step) for step in steps],
    }
    show_one(call, run.id, data, lambda: _screen(desk, run, steps))


def _screen(desk: Session, run: RunView, steps: list[StepView]) -> None:
    due = words.money(run.amount_remaining, run.currency)
    print(f"{run.id}  {run.invoice_reference}  {due}  policy {run.policy_name}")
    line("Opened", desk.when.at(run.opened_at))
    for step in steps:
        said = f": {step.said}" if step.said else ""
        line(f"Step {step.number}", f"{step.kind}, {step.state.replace('_', ' ')}{said}  "
             f"{desk.when.at(step.begun_at)}  ({step.actor})")  # fmt: skip
    line("Next" if run.outcome is None else "Ended", _next(desk, run))
    if run.outcome is None and run.rule is not None:
        line("Because", f"{BECAUSE[run.rule]} ({run.rule})")
    line("Invoice", f"anchorhold invoice show {run.invoice_id}")

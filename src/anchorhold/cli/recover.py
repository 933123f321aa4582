"""`anchorhold recover`: read from Stripe what a database that lost its last commits lacks."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from anchorhold.app import App
from anchorhold.cli.call import TIMES, Call, Format, lone, verb
from anchorhold.cli.objects import Object, plain
from anchorhold.cli.output import hint, print_json, show_one
from anchorhold.cli.scopes import chosen, named, shown
from anchorhold.cli.session import opened
from anchorhold.domain.recovering import RECOVER, Act, Phase
from anchorhold.domain.refusals import Code, Exit, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.recover import Recovered, recover, survey
from anchorhold.store import recoveries
from anchorhold.store.recoveries import Look

app = lone()

REPORTS: Final = frozenset(rule.id for rule in RECOVER if rule.act is Act.REPORT)
DID: Final = {
    Act.SETTLE: "recorded as payments",
    Act.FOLLOW: "bank debits followed",
    Act.ADOPT: "put back as their invoices' own",
    Act.CANCEL: "cancelled",
    Act.END: "ended",
    Act.REMEMBER: "known again as cancelled",
    Act.REPORT: "of invoices that are not here: see `anchorhold notice list`",
}
WOULD: Final = {
    Act.SETTLE: "to record as payments",
    Act.FOLLOW: "bank debits to follow",
    Act.ADOPT: "to put back as their invoices' own",
    Act.CANCEL: "to cancel",
    Act.END: "to end",
    Act.REMEMBER: "to know again as cancelled",
    Act.REPORT: "of invoices that are not here",
}
PHASES: Final = {Phase.CREATED: "PaymentIntents", Phase.CHANGED: "events"}


@verb(
    app,
    "recover",
    "anchorhold recover --dry-run",
    "anchorhold recover --since 2026-11-30T06:00:00Z",
    scoped=False,
)
async def recover_(
    call: Call,
    *,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--since", formats=TIMES, help="Read from then on, UTC, though nothing is due."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")
    ] = False,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.")] = None,
) -> None:
    """Read from Stripe what a database that lost its last commits lacks.

    Workers do this by themselves after a fail-over or a restore; nothing is charged before it is
    done. Payments are recorded, bank debits followed, PaymentIntents put back or cancelled. Exit
    code 6: money for invoices that are not here, see `anchorhold notice list`. Exit code 5: Stripe
    did not answer; run it again, it goes on where it stopped.
    """
    start = since.replace(tzinfo=UTC) if since else None
    async with opened() as process:
        done = [
            await _recover(process, scope, start, dry_run=dry_run)
            for scope in await chosen(process, account)
        ]
    if call.format is Format.JSON:
        data = [_object(one) for one in done]
        print_json({"object": "list", "data": data, "has_more": False})
    else:
        for one in done:
            show_one(call, one.scope.account_id, _object(one), lambda one=one: _screen(one))
    _exit(done)


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of one account and mode; `found` is None where nothing was read."""

    scope: Scope
    found: Recovered | None
    look: Look
    dry_run: bool

    @property
    def counts(self) -> dict[str, int]:
        """How many each rule decided."""
        return self.found.counts if self.found else {}

    @property
    def stopped(self) -> str | None:
        """Why it is not done."""
        if self.found is None and not self.look.whole:
            return "another process leads it"
        return self.found.stopped if self.found else None


async def _recover(process: App, scope: Scope, since: datetime | None, *, dry_run: bool) -> _Done:
    act = survey if dry_run else recover
    found = await act(process.deps, scope, since=since, told=_progress)
    look = await recoveries.look(process.deps.db, scope)
    if look is None:
        raise Refusal(Code.STRIPE_KEY_MISSING)
    return _Done(scope, found, look, dry_run)


def _progress(phase: Phase, counts: dict[str, int]) -> None:
    hint(f"{PHASES[phase]}: {counts.get('read', 0):,} read, {counts.get('ours', 0):,} of ours")


def _object(done: _Done) -> Object:
    counts = done.counts
    return {
        "object": "recovery",
        "id": done.scope.account_id,
        **shown(done.scope),
        "dry_run": done.dry_run,
        "whole": done.look.whole,
        "since": plain(done.found.since) if done.found else None,
        "read": counts.get("read", 0),
        "ours": counts.get("ours", 0),
        "by_rule": {rule.id: counts[rule.id] for rule in RECOVER if rule.id in counts},
        "stopped": done.stopped,
        "last_commit_seen_at": plain(done.look.seen_at),
    }


def _screen(done: _Done) -> None:
    if done.found is None and done.look.whole:
        print(f"{named(done.scope)}: nothing to recover, the database has every commit")
        return
    read, ours = done.counts.get("read", 0), done.counts.get("ours", 0)
    print(f"{named(done.scope)}: {read:,} read from Stripe, {ours:,} of ours")
    for act, count in _by_act(done.counts).items():
        print(f"  {count:,} {(WOULD if done.dry_run else DID)[act]}")
    if done.stopped:
        print(f"stopped early: {done.stopped}; nothing is charged until it is done")


def _by_act(counts: dict[str, int]) -> Counter[Act]:
    """How many intents each act was about, without those about which nothing is done."""
    acts: Counter[Act] = Counter()
    for rule in RECOVER:
        if rule.act is not Act.NOTHING and rule.id in counts:
            acts[rule.act] += counts[rule.id]
    return acts


def _exit(done: list[_Done]) -> None:
    if any(one.stopped for one in done):
        raise typer.Exit(Exit.UNAVAILABLE)
    if any(REPORTS & set(one.counts) for one in done):
        raise typer.Exit(Exit.FINDINGS)

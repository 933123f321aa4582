"""`anchorhold tick`: look through everything once."""

from typing import Annotated

import typer

from anchorhold.app import App
from anchorhold.cli.call import PAGE_MAX, Call, Format, lone, verb
from anchorhold.cli.objects import Object
from anchorhold.cli.output import print_json, show_one
from anchorhold.cli.scopes import chosen, named, shown
from anchorhold.cli.session import opened
from anchorhold.cli.words import next_check
from anchorhold.domain.hold import HoldState
from anchorhold.domain.scope import Scope
from anchorhold.engine.prune import prune
from anchorhold.engine.tick import tick
from anchorhold.store import views_invoices

app = lone()


@verb(app, "tick", "anchorhold tick --dry-run", "anchorhold tick --output json", scoped=False)
async def tick_(
    call: Call,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is due, and ask nobody.")
    ] = False,
    account: Annotated[str | None, typer.Option("--account", help="Only this account.")] = None,
) -> None:
    """Look through everything once: stale holds, followed PaymentIntents, events, refused keys.

    Workers do this every hour by themselves. It reads at Stripe and settles, releases or keeps;
    the only charges that it sends are retries, where a dunning policy is assigned. Safe at any
    time, also beside workers.
    """
    look = _due if dry_run else _tick
    async with opened() as process:
        done = [(scope, await look(process, scope)) for scope in await chosen(process, account)]
        if not dry_run:
            await prune(process.deps, keep_days=process.settings.event_deliveries_kept_days)
    if call.format is Format.JSON:
        print_json({"object": "list", "data": [data for _, data in done], "has_more": False})
        return
    for scope, data in done:
        show_one(call, scope.account_id, data, lambda scope=scope, data=data: _screen(scope, data))


async def _tick(process: App, scope: Scope) -> Object:
    done = await tick(process.deps, scope)
    return {
        "object": "tick",
        "id": scope.account_id,
        **shown(scope),
        "dry_run": False,
        "checks": done.swept.checks,
        "checks_by_rule": done.swept.rows,
        "followed": sum(done.followed.values()),
        "followed_by_rule": done.followed,
        "watched": sum(done.watched.values()),
        "watched_by_rule": done.watched,
        "events": done.audited.read,
        "events_by_rule": done.audited.rows,
        "refunds": done.audited.refunds,
        "events_stopped": done.audited.stopped,
        "periods_billed": done.renewed.billed,
        "subscriptions_ended": done.renewed.ended,
        "subscriptions_behind": done.renewed.behind,
        "renewals_failed": done.renewed.failed,
        "renewals_stopped": done.renewed.stopped,
        "dunning_opened": done.dunned.opened,
        "dunning_steps": sum(done.dunned.steps.values()),
        "dunning_steps_by_state": {state.value: n for state, n in done.dunned.steps.items()},
        "dunning_stopped": done.dunned.stopped,
        "stopped": done.swept.stopped,
        "account_refused": done.account_refused,
    }


async def _due(process: App, scope: Scope) -> Object:
    """What a tick would look at now, counted from the rows."""
    due = {HoldState.STALE: 0, HoldState.PARKED: 0, HoldState.FOLLOWING: 0, HoldState.LIVE: 0}
    after = None
    while rows := await views_invoices.under_way(
        process.deps.db, scope, after=after, limit=PAGE_MAX
    ):
        for row in rows:
            at = next_check(row, process.deps.timing)
            due[row.hold] += at is not None and at <= row.now
        after = rows[-1].id
    return {
        "object": "tick",
        "id": scope.account_id,
        **shown(scope),
        "dry_run": True,
        "checks": due[HoldState.STALE] + due[HoldState.PARKED],
        "followed": due[HoldState.FOLLOWING],
    }


def _screen(scope: Scope, data: Object) -> None:
    word = "would check" if data["dry_run"] else "checked"
    print(f"{named(scope)}: {word} {data['checks']} holds and {data['followed']} followed intents")
    if not data["dry_run"]:
        print(f"read {data['events']} new events of Stripe's")
        print(f"billed {data['periods_billed']} periods of subscriptions")
    if data.get("renewals_stopped"):
        print(f"renewals: {data['renewals_stopped']}; the next tick goes on there")
    if data.get("dunning_steps"):
        print(f"made {data['dunning_steps']} steps of dunning: anchorhold dunning list")
    if data.get("dunning_stopped"):
        print(f"dunning: {data['dunning_stopped']}; the next tick goes on there")
    if data.get("events_stopped"):
        print(f"events: {data['events_stopped']}; the next tick goes on there")
    if data.get("stopped"):
        print(f"stopped early: {data['stopped']}")
    if data.get("account_refused"):
        print("Stripe refuses the key: `anchorhold account connect` puts in another")

"""`anchorhold worker`: charge what is due and confirm what is unclear."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Annotated

import typer

from anchorhold.app import App, open_app, worker_actor
from anchorhold.cli import words
from anchorhold.cli.call import Call, Format, lone, verb
from anchorhold.cli.objects import Object
from anchorhold.cli.output import print_json, show_one
from anchorhold.cli.scopes import chosen, named, shown
from anchorhold.cli.session import load_settings
from anchorhold.domain.scope import Scope
from anchorhold.metrics import Meters
from anchorhold.settings import Settings
from anchorhold.web import metrics
from anchorhold.worker import run
from anchorhold.worker.once import Pass, run_once

app = lone()


@verb(app, "worker", "anchorhold worker", "anchorhold worker --once --output json", scoped=False)
def worker(
    call: Call,
    *,
    once: Annotated[
        bool, typer.Option("--once", help="One pass over everything, without jobs, then end.")
    ] = False,
    account: Annotated[
        str | None, typer.Option("--account", help="With --once: only this account.")
    ] = None,
) -> None:
    """Charge what is due and confirm what is unclear, until stopped.

    Any number of workers share the work; each may be killed at any moment. Ctrl-C or SIGTERM
    finishes the charges that run; a second one stops at once, and what was cut is confirmed with
    Stripe by the next worker.
    """
    if once:
        asyncio.run(_once(call, account))
    else:
        _until_stopped(load_settings())


def _until_stopped(settings: Settings) -> None:
    """With ANCHORHOLD_METRICS_LISTEN, `/metrics` and the health checks are answered there."""
    apart = metrics.bind(settings)
    if apart is None:
        run.main(settings)
        return
    meters = Meters()

    def beside(process: App) -> AbstractAsyncContextManager[None]:
        return metrics.served(process, metrics.exposition(process, meters).text, apart)

    run.main(settings, meter=meters, beside=beside)


async def _once(call: Call, account: str | None) -> None:
    async with open_app(load_settings(), actor=worker_actor()) as process:
        scopes = await chosen(process, account)
        done = [(scope, await run_once(process.deps, scope)) for scope in scopes]
    if call.format is Format.JSON:
        data = [_object(scope, one) for scope, one in done]
        print_json({"object": "list", "data": data, "has_more": False})
        return
    for scope, one in done:
        _show(call, scope, one)


def _show(call: Call, scope: Scope, done: Pass) -> None:
    def screen() -> None:
        print(f"{named(scope)}: {_told(done)}")

    show_one(call, scope.account_id, _object(scope, done), screen)


def _told(done: Pass) -> str:
    charged = ", ".join(f"{n:,} {words.meaning(how)}" for how, n in done.charged.items())
    checks = done.ticked.swept.checks + sum(done.ticked.followed.values())
    return f"{checks:,} checks, {done.claimed:,} charges" + (f" ({charged})" if charged else "")


def _object(scope: Scope, done: Pass) -> Object:
    return {
        "object": "pass",
        "id": scope.account_id,
        **shown(scope),
        "checks": done.ticked.swept.rows,
        "stopped": done.ticked.swept.stopped,
        "followed": done.ticked.followed,
        "account_refused": done.ticked.account_refused,
        "prepared": {step.value: count for step, count in done.prepared.items()},
        "claimed": done.claimed,
        "charged": {how.value: count for how, count in done.charged.items()},
    }

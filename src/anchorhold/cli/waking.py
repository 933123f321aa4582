"""Waking the workers: there is something to do, and the next tick may be an hour away."""

from procrastinate.exceptions import ConnectorException

from anchorhold.app import App
from anchorhold.cli.output import say
from anchorhold.domain.scope import Scope
from anchorhold.worker.jobs import JobWake, connect_jobs


async def wake(process: App, scope: Scope) -> None:
    """A worker, if one runs, looks at once for what can be prepared and charged.

    Only a wake-up: without it the next tick finds the same, so that a failure is said and passes.
    """
    jobs = connect_jobs(process.conninfo)
    try:
        async with jobs.open_async():
            await JobWake(jobs, process.deps).collect(scope)
    except ConnectorException as error:
        say(f"no worker could be woken ({error}); the next tick finds the work")

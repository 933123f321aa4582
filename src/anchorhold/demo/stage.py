"""Both halves of the demo, one after the other, with progress for whoever watches."""

from rich.console import Console

from anchorhold import postgres
from anchorhold.demo import ours, plain
from anchorhold.demo.ours import Outcome, Standing
from anchorhold.demo.plain import PlainOutcome
from anchorhold.demo.report import as_json, tell
from anchorhold.demo.scene import Mode, Scene
from anchorhold.domain.refusals import Code, Refusal

__all__ = ["Mode", "Scene", "as_json", "play", "tell"]


async def play(scene: Scene, talk: Console) -> tuple[Outcome, PlainOutcome]:
    """Anchorhold's half, then the plain loop's; both have ended and nothing runs any more.

    Raises Refusal: embedded_database_failed.
    """
    talk.print(
        f"Seed {scene.seed}, {scene.mode} mode: {scene.invoices} invoices, "
        f"{scene.workers} workers, {scene.kills} of them to be killed with SIGKILL at any moment."
    )
    started = _started(scene)
    try:
        with talk.status("Anchorhold: importing") as status:

            def told(standing: Standing, kills: int) -> None:
                status.update(
                    f"Anchorhold: {standing.paid} paid, {standing.declined} declined or waiting "
                    f"for the customer, {standing.left} to go; {standing.confirming} being "
                    f"confirmed with Stripe; {kills} workers killed"
                )

            outcome = await ours.run(scene, started.conninfo, told)
        talk.print(f"Anchorhold's half took {outcome.seconds} s.")
        with talk.status("Plain retry loop") as status:
            other = await plain.run(
                scene,
                started.conninfo,
                lambda done, kills: status.update(
                    f"Plain retry loop: {done} of {scene.invoices} done; {kills} killed"
                ),
            )
        talk.print(f"The plain loop's half took {other.seconds} s.")
    finally:
        postgres.stop(scene.folder / "postgres")
    return outcome, other


def _started(scene: Scene) -> postgres.Server:
    try:
        return postgres.start(scene.folder / "postgres")
    except postgres.PostgresError as error:
        raise Refusal(
            Code.EMBEDDED_DATABASE_FAILED, reason=error.sentence, advice=error.next_step
        ) from error

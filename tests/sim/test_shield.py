"""Whoever is cancelled ends, but not before what must come to its end has done so."""

from anchorhold.sim.scheduler import Process
from anchorhold.sim.shield import Shield
from anchorhold.sim.turns import Kind, Turn

did: list[str] = []


async def step(name: str) -> str:
    await Turn(Kind.STATEMENT, name)
    did.append(name)
    return name


async def caller(shield: Shield) -> None:
    await step("before")
    await shield.save(lambda: step("save"))
    await step("after")


async def sender(shield: Shield) -> None:
    await shield.send(lambda: step("send"), lambda: step("note"))


def test_a_cancelled_caller_ends_where_it_waits() -> None:
    did.clear()
    process = Process("worker 1", caller(shield := Shield()))
    process.begin()
    process.cancel(shield)
    assert (did, process.end) == ([], "cancelled")


def test_what_is_saved_is_saved_before_the_caller_ends() -> None:
    did.clear()
    process = Process("worker 1", caller(shield := Shield()))
    process.begin()
    process.move()
    process.cancel(shield)
    assert (did, process.end) == (["before", "save"], "cancelled")


def test_a_caller_that_is_cancelled_while_it_sends_notes_that() -> None:
    did.clear()
    process = Process("worker 1", sender(shield := Shield()))
    process.begin()
    process.cancel(shield)
    assert process.turn == Turn(Kind.STATEMENT, "note")
    process.move()
    assert (did, process.end) == (["note"], "cancelled")

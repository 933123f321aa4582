"""A process of a world moves only when the hand moves it, and breaks where the hand says."""

from random import Random

import psycopg
import pytest
from typing_extensions import override

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.sim.faults import Harm, Harms
from anchorhold.sim.scheduler import Process
from anchorhold.sim.turns import Fate, Kind, Turn

did: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    did.clear()


async def statement(name: str) -> None:
    fate = await Turn(Kind.STATEMENT, name)
    did.append(name)
    if fate is Fate.LOSES_ANSWER:
        raise psycopg.OperationalError("the connection was lost")


async def two() -> str:
    await statement("first")
    await statement("second")
    return "both"


def begun() -> Process:
    process = Process("worker 1", two())
    process.begin()
    return process


def test_a_process_waits_before_its_first_step() -> None:
    process = begun()
    assert process.turn == Turn(Kind.STATEMENT, "first")
    assert not did
    process.die()


def test_a_process_takes_one_step_a_move_and_says_how_it_ended() -> None:
    process = begun()
    process.move()
    assert did == ["first"]
    process.move()
    assert (process.turn, process.end, process.bug) == (None, "both", None)


def test_a_process_that_dies_leaves_the_step_undone() -> None:
    process = begun()
    process.move()
    process.die()
    assert did == ["first"]
    assert (process.turn, process.end) == (None, "dead")


def test_a_lost_answer_is_no_bug_of_the_process() -> None:
    process = begun()
    process.move(Fate.LOSES_ANSWER)
    assert did == ["first"]
    assert (process.end, process.bug) == ("raised OperationalError", None)


@pytest.mark.parametrize("injured", [True, False])
def test_what_nobody_caused_is_a_bug(*, injured: bool) -> None:
    async def breaks() -> None:
        await Turn(Kind.STATEMENT, "first")
        raise psycopg.errors.UniqueViolation("twice")

    process = Process("worker 1", breaks())
    process.begin()
    process.injured = injured
    process.move()
    assert isinstance(process.bug, psycopg.errors.UniqueViolation)


def test_a_refusal_is_an_end_like_any_other() -> None:
    async def refused() -> None:
        await Turn(Kind.STATEMENT, "first")
        raise Refusal(Code.NOTHING_DUE, invoice="inv_1")

    process = Process("operator 1", refused())
    process.begin()
    process.move()
    assert (process.end, process.bug) == ("refused: nothing_due", None)


class Dice(Random):
    """Always the same throw."""

    throw = 0.0

    @override
    def random(self) -> float:
        return self.throw


def dice(throw: float) -> Dice:
    made = Dice()
    made.throw = throw
    return made


def test_no_harm_is_done_once_the_faults_stop() -> None:
    harms = Harms(dice(0.0), 2)
    assert harms.next(Turn(Kind.ANSWER, "confirm_intent: succeeded")) is Harm.DIES
    harms.stop()
    assert harms.next(Turn(Kind.ANSWER, "confirm_intent: succeeded")) is None


def test_harm_is_rare_away_from_the_heart() -> None:
    throw = 0.05
    at_heart = Harms(dice(throw), 1).next(Turn(Kind.STATEMENT, "holds.recheck"))
    elsewhere = Harms(dice(throw), 1).next(Turn(Kind.STATEMENT, "accounts.connection"))
    assert (at_heart, elsewhere) == (Harm.DIES, None)

"""Asked once, work ends; asked twice, it is given up."""

import asyncio

import pytest

from anchorhold.worker.stop import Stop


def test_the_second_question_means_at_once() -> None:
    stop = Stop()
    assert (stop.asked, stop.at_once) == (False, False)
    stop.request()
    assert (stop.asked, stop.at_once) == (True, False)
    stop.request()
    assert (stop.asked, stop.at_once) == (True, True)


async def test_work_that_may_be_cut_is_cut_when_asked_and_waited_for() -> None:
    stop, begun, ended = Stop(), asyncio.Event(), asyncio.Event()

    async def work() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    doing = asyncio.create_task(stop.unless(work()))
    await begun.wait()
    stop.request()
    assert await doing is None
    assert ended.is_set()


async def test_work_that_ends_by_itself_gives_its_result_or_raises() -> None:
    async def fails() -> None:
        raise ValueError("no")

    assert await Stop().unless(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(ValueError, match="no"):
        await Stop().unless(fails())


async def test_a_pause_ends_when_asked() -> None:
    stop = Stop()
    pausing = asyncio.create_task(stop.pause(3600))
    await asyncio.sleep(0)
    stop.request()
    await asyncio.wait_for(pausing, 10)

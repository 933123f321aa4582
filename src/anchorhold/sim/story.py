"""A seed told as a timeline: who did what, when, and what Stripe said."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from anchorhold.sim.run import Played
from anchorhold.sim.world import Line

WIDTH = 12
STEPS_OF_A_LINE = 4


def told(played: Played) -> list[str]:
    """The world's story, a line a moment, and the judgement at its end."""
    verdict = played.violations or ("nothing: every invariant held",)
    return [
        f"World {played.seed}",
        *_lines(played.story),
        f"The auditor found {'; '.join(verdict)}.",
    ]


def _lines(story: Iterable[Line]) -> Iterator[str]:
    """What one does without a pause stands on one line."""
    for (at, who), lines in groupby(story, key=lambda line: (int(line.at), line.who)):
        parts = [line.what for line in lines]
        for start in range(0, len(parts), STEPS_OF_A_LINE):
            steps = ", ".join(parts[start : start + STEPS_OF_A_LINE])
            yield f"{_clock(at)}  {who:<{WIDTH}}  {steps}"


def _clock(seconds: int) -> str:
    """Days, hours, minutes and seconds after the world's beginning."""
    days, rest = divmod(seconds, 86_400)
    return f"{days}d {rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"

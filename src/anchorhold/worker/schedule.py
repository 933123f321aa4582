"""When the tick runs: ANCHORHOLD_TICK_SECONDS as a cron line, the same for all workers."""

from typing import Final

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.timing import DAY_SECONDS, setting_name

MINUTE: Final = 60
HOUR: Final = 3600


def cron_of(tick_seconds: float) -> str:
    """The cron line (its sixth field is seconds) that comes due every `tick_seconds`.

    Raises Refusal (settings_invalid) for a time that does not divide a minute, an hour or a day
    evenly: its ticks would bunch up where the next minute, hour or day begins.
    """
    seconds = int(tick_seconds)
    if seconds == tick_seconds and seconds >= 1:
        if MINUTE % seconds == 0:
            return f"* * * * * */{seconds}"
        if seconds % MINUTE == 0 and HOUR % seconds == 0:
            return f"*/{seconds // MINUTE} * * * *"
        if seconds % HOUR == 0 and DAY_SECONDS % seconds == 0:
            return f"0 */{seconds // HOUR} * * *"
    raise Refusal(
        Code.SETTINGS_INVALID,
        name=setting_name("tick_seconds"),
        reason=f"{tick_seconds:g} seconds do not divide a minute, an hour or a day evenly; "
        "take for example 2, 30, 60, 900 or 3600",
    )

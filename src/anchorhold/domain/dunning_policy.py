"""A dunning policy from what a person writes: waits, a time of day, a zone."""

import re
from datetime import time
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from anchorhold.domain.closing import FinalAction
from anchorhold.domain.dunning import WAIT_HOURS_MAX, WAITS_MAX, Policy
from anchorhold.domain.dunning_refusals import DunningCode
from anchorhold.domain.refusals import Refusal

_WAIT: Final = re.compile(r"([1-9][0-9]{0,3})([hd])")
_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_HOURS: Final = {"h": 1, "d": 24}


def policy_of(waits: str, at: str | None, zone: str, final_action: FinalAction) -> Policy:
    """The policy that these words describe: "1d,3d,5d", "08:00", "Europe/Berlin".

    Refuses what is none (DUNNING_POLICY_INVALID).
    """
    hours = tuple(_hours(wait.strip()) for wait in waits.split(","))
    if len(hours) > WAITS_MAX:
        raise _invalid(f"it has {len(hours)} waits, and an invoice has {WAITS_MAX} retries")
    return Policy(hours, _time(at), _zone(zone), final_action)


def waits_in_words(policy_hours: tuple[int, ...]) -> str:
    """The waits as `policy_of` reads them."""
    return ",".join(_short(hours) for hours in policy_hours)


def _short(hours: int) -> str:
    return f"{hours // 24}d" if hours % 24 == 0 else f"{hours}h"


def _hours(text: str) -> int:
    found = _WAIT.fullmatch(text)
    if found is None:
        raise _invalid(f"'{text[:20]}' is no wait such as 3d or 12h")
    hours = int(found[1]) * _HOURS[found[2]]
    if hours > WAIT_HOURS_MAX:
        raise _invalid(f"'{text}' is longer than {WAIT_HOURS_MAX // 24} days")
    return hours


def _time(text: str | None) -> time | None:
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    if found is None:
        raise _invalid(f"'{text[:20]}' is no time of day such as 08:00")
    return time(int(found[1]), int(found[2]))


def _zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise _invalid(f"there is no time zone '{name[:40]}'") from None


def _invalid(reason: str) -> Refusal:
    return Refusal(DunningCode.DUNNING_POLICY_INVALID, reason=reason)

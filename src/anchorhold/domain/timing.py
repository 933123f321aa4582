"""How long everything may take, and the relations that keep a charge from being sent twice.

Source: protocol section 12. All values are seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import ge, gt, lt
from typing import Final

DAY_SECONDS: Final = 86_400
"""Stripe keeps an idempotency key for at least this long (Stripe: Idempotent requests)."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The constants of the protocol; each can be set as `ANCHORHOLD_` and its name."""

    hold_seconds: float = 300
    """How long a claim holds an invoice."""
    min_left_seconds: float = 120
    """What must be left of the hold when the re-check passes."""
    call_bound_seconds: float = 120
    """No call that could charge lasts longer."""
    deadline_auto_seconds: float = 30
    """How long an automatic charge waits for Stripe's answer."""
    deadline_collect_seconds: float = 30
    """How long an operator's charge waits for it."""
    deadline_dunning_seconds: float = 15
    """How long a dunning retry waits for it."""
    deadline_margin_seconds: float = 5
    """Kept free between a deadline and what it protects."""
    sweep_wait_seconds: float = 600
    """How long after its end a hold in direct mode is first looked at."""
    recheck_seconds: float = 1800
    """When a hold that was kept is looked at again."""
    check_cut_seconds: float = 45
    """No check of one hold lasts longer."""
    sweep_budget_seconds: float = 300
    """No sweep of one account and mode lasts longer."""
    list_back_seconds: float = 3600
    """How far before the oldest unproven claim Stripe's lists are read."""
    fence_max_seconds: float = 82_800
    """After this long since the send no key is used again."""
    parked_wait_seconds: float = 86_400
    """How long a parked result is waited for."""
    parked_alarm_seconds: float = 93_600
    """A park older than this raises the alarm."""
    hold_alarm_seconds: float = 7200
    """Any other hold older than this raises the alarm."""
    tick_seconds: float = 3600
    """How often everything is looked through."""

    @property
    def lease_seconds(self) -> float:
        """How long a row that is being prepared is left to whoever took it: two calls' time."""
        return 2 * self.deadline_auto_seconds

    @property
    def check_lease_seconds(self) -> float:
        """How long a hold is left to the sweep that took it: longer than its check may last."""
        return self.check_cut_seconds + 3 * self.deadline_margin_seconds

    def check(self, key_life_seconds: float = DAY_SECONDS) -> tuple[str, ...]:
        """The relations that these times break, as sentences with both numbers; none is safe.

        `key_life_seconds` is how long the provider keeps idempotency keys: a day at Stripe; the
        twin may keep them for less.
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values[KEY_LIFE] = key_life_seconds
        return (
            *(_not_positive(name, value) for name, value in values.items() if not value > 0),
            *(row.sentence(values) for row in RELATIONS if not row.holds(values)),
        )


KEY_LIFE: Final = "key_life"
_MARGIN: Final = "deadline_margin_seconds"


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation between two sums of times. `id` is stable and documented."""

    id: str
    left: tuple[str, ...]
    compare: str
    right: tuple[str, ...]
    because: str

    def holds(self, values: dict[str, float]) -> bool:
        """These values keep it."""
        return _COMPARISONS[self.compare](_sum(self.left, values), _sum(self.right, values))

    def sentence(self, values: dict[str, float]) -> str:
        """What must be so, with the numbers, and why."""
        left, right = _told(self.left, values), _told(self.right, values)
        return f"{self.id}: {left} must be {self.compare} {right}, {self.because}"


_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "at least": ge,
    "more than": gt,
    "less than": lt,
}

# fmt: off
RELATIONS: Final = (
    Relation("T1", ("min_left_seconds",), "at least", ("call_bound_seconds",),
             "or a call could outlive its hold"),
    Relation("T2", ("call_bound_seconds",), "at least", ("deadline_auto_seconds", _MARGIN),
             "or an automatic charge could outlive the bound of its call"),
    Relation("T3", ("call_bound_seconds",), "at least", ("deadline_collect_seconds", _MARGIN),
             "or an operator's charge could outlive the bound of its call"),
    Relation("T4", ("call_bound_seconds",), "at least", ("deadline_dunning_seconds", _MARGIN),
             "or a dunning retry could outlive the bound of its call"),
    Relation("T5", ("hold_seconds",), "at least", ("min_left_seconds", _MARGIN),
             "or no charge could ever pass its re-check"),
    Relation("T6", ("fence_max_seconds", _MARGIN), "less than", (KEY_LIFE,),
             "or a key could be used after Stripe forgot it"),
    Relation("T7", ("parked_wait_seconds",), "at least", (KEY_LIFE,),
             "or a parked charge could still be answered from its key"),
    Relation("T8", ("parked_alarm_seconds",), "more than", ("parked_wait_seconds",),
             "or every park would raise the alarm"),
)
"""What a start is refused for (protocol section 12)."""
# fmt: on


def setting_name(field: str) -> str:
    """The environment variable that sets a field: `hold_seconds` is ANCHORHOLD_HOLD_SECONDS."""
    return f"ANCHORHOLD_{field.upper()}"


def name_of(field: str) -> str:
    """A side of a relation for people: the setting, or what the provider decides."""
    return "the life of an idempotency key" if field == KEY_LIFE else setting_name(field)


def _sum(names: tuple[str, ...], values: dict[str, float]) -> float:
    return sum(values[name] for name in names)


def _told(names: tuple[str, ...], values: dict[str, float]) -> str:
    return " + ".join(f"{name_of(name)} ({values[name]:g} s)" for name in names)


def _not_positive(field: str, value: float) -> str:
    return f"T0: {name_of(field)} ({value:g} s) must be more than 0, or it bounds nothing"

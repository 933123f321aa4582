"""Faults by rule: which request meets which fault.

A rule names endpoints, and either the n-th calls of them or a probability. With one request at a
time the same rules, seed and requests give the same faults.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from random import Random
from typing import Any

from anchorhold.twin.keyring import matches


class FaultKind(Enum):
    """What goes wrong with one request."""

    REFUSED = "refused"
    """Stripe did nothing and never heard of it; the client cannot connect."""
    DROPPED_BEFORE = "dropped_before"
    """Stripe did nothing; the client sent its request and the connection was reset."""
    DROPPED_AFTER = "dropped_after"
    """Stripe executed it and saved the answer; the client's connection was reset before any of it
    came."""
    CUT = "cut"
    """Stripe executed it; the client gets the headers and half of the body, then a reset."""
    ERROR_500_WITHOUT_EFFECT = "error_500_without_effect"
    """Stripe failed before it did anything; the client gets 500, which is saved under the key."""
    ERROR_500_WITH_EFFECT = "error_500_with_effect"
    """Stripe executed it all the same; the client gets 500, which is saved under the key."""
    ERROR_500_LATE_EFFECT = "error_500_late_effect"
    """The client gets 500, saved under the key; Stripe reconciles `seconds` later and executes."""
    LATE = "late"
    """The client never gets an answer; Stripe executes `seconds` later. Meanwhile the key answers
    409 and the object in the path answers 429 `lock_timeout` to others."""
    RATE_LIMIT = "rate_limit"
    """Stripe's limiter answers 429 before anything else; nothing is executed or saved."""
    LOCK_TIMEOUT = "lock_timeout"
    """Stripe answers 429 `lock_timeout`: somebody else holds the object; nothing is executed."""
    CONFLICT = "conflict"
    """Stripe answers 409 `idempotency_key_in_use`; nothing is executed."""
    SLOW = "slow"
    """Stripe executes it at once; the client gets the right answer `seconds` later."""


@dataclass(frozen=True, slots=True)
class Rule:
    """When a fault happens. Of `calls` and `probability` one is given.

    `endpoint` is a pattern as `POST /v1/payment_intents/{id}/confirm`, `POST *`, `*`, or a
    template that ends in `*`. `calls` counts from 1 and only requests that the rule matches.
    """

    kind: FaultKind
    endpoint: str = "*"
    calls: frozenset[int] = frozenset()
    probability: float = 0.0
    seconds: float = 0.0
    """How late or how slow."""
    key: str | None = None
    """Only requests with this API key."""
    account: str | None = None
    """Only requests of this account."""
    most: int | None = None
    """How many times at most."""

    def __post_init__(self) -> None:
        if bool(self.calls) == bool(self.probability):
            raise ValueError("a fault rule needs either `calls` or `probability`")
        if not 0 <= self.probability <= 1:
            raise ValueError("`probability` lies between 0 and 1")
        if self.seconds < 0 or any(call < 1 for call in self.calls):
            raise ValueError("`seconds` is not negative and `calls` count from 1")

    def shown(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {**asdict(self), "kind": self.kind.value, "calls": sorted(self.calls)}


def rule_from_json(given: Mapping[str, Any]) -> Rule:
    """The rule that `Rule.shown` shows; ValueError says what is wrong with it."""
    names = set(Rule.__dataclass_fields__)
    strange = set(given) - names
    if strange:
        raise ValueError(f"unknown in a fault rule: {', '.join(sorted(strange))}")
    values = dict(given)
    values["kind"] = FaultKind(values.get("kind"))
    values["calls"] = frozenset(int(call) for call in values.get("calls") or ())
    return Rule(**values)


def rule_from_text(text: str) -> Rule:
    """A rule in one line: kind, when, endpoint.

    `dropped_after 2% POST /v1/payment_intents*`, `late:30 #1,#4 POST *`, `slow:2 100%`. The kind
    takes seconds after a colon; `when` is a percentage or numbers of calls; without an endpoint
    it is every one. ValueError says what is wrong.
    """
    kind_text, _, rest = text.strip().partition(" ")
    when, _, endpoint = rest.strip().partition(" ")
    name, _, seconds = kind_text.partition(":")
    percent = when.endswith("%")
    calls = () if percent else [int(part.lstrip("#")) for part in when.split(",")]
    return Rule(
        FaultKind(name),
        endpoint.strip() or "*",
        frozenset(calls),
        float(when[:-1]) / 100 if percent else 0.0,
        float(seconds or 0),
    )


@dataclass(slots=True)
class _Armed:
    rule: Rule
    random: Random
    seen: int = 0
    fired: int = 0


class Faults:
    """The rules of one twin, and how often each was met."""

    def __init__(self, rules: Iterable[Rule] = (), seed: int | str = 0) -> None:
        self._armed: list[_Armed] = []
        self._seed = seed
        self.replace(rules, seed)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self._armed)

    def replace(self, rules: Iterable[Rule], seed: int | str | None = None) -> None:
        """From now on these rules, counted anew; no rules: no faults."""
        self._seed = self._seed if seed is None else seed
        self._armed = [
            _Armed(rule, Random(f"fault:{self._seed}:{at}"))  # noqa: S311 - repeatable, not secret
            for at, rule in enumerate(rules)
        ]

    def pick(self, method: str, template: str, account: str | None, key: str | None) -> Rule | None:
        """The fault that this request meets: the first rule that fires. All rules count it."""
        chosen: Rule | None = None
        for armed in self._armed:
            rule = armed.rule
            if not matches(rule.endpoint, method, template):
                continue
            if rule.key not in {None, key} or rule.account not in {None, account}:
                continue
            armed.seen += 1
            if chosen is None and self._fires(armed):
                armed.fired += 1
                chosen = rule
        return chosen

    @staticmethod
    def _fires(armed: _Armed) -> bool:
        rule = armed.rule
        if rule.most is not None and armed.fired >= rule.most:
            return False
        if rule.calls:
            return armed.seen in rule.calls
        return armed.random.random() < rule.probability

    def shown(self) -> list[dict[str, Any]]:
        """Every rule with how many requests it saw and how many met it."""
        return [
            {**armed.rule.shown(), "seen": armed.seen, "fired": armed.fired}
            for armed in self._armed
        ]

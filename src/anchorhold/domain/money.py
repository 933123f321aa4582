"""An amount of money: whole minor units, as Stripe counts them, and a currency. Never a float."""

import re
from dataclasses import dataclass
from typing import Final, Self

from anchorhold.domain.currencies import TABLE, Currency, Rule, currency
from anchorhold.domain.refusals import Code, Refusal

_WHOLE: Final = "0|[1-9][0-9]*"
_AMOUNT: Final = re.compile(rf"(?P<whole>{_WHOLE})(?:\.(?P<decimals>[0-9]+))?")
_LONGEST: Final = 18
"""Digits before the point that are worth reading: more than any maximum of the table."""


@dataclass(frozen=True, slots=True)
class Money:
    """`minor` units (0 or more) of `currency`. Amounts of two currencies cannot be ordered."""

    minor: int
    currency: Currency

    def __post_init__(self) -> None:
        """A float, a bool or a negative number here is a bug of the caller: ValueError."""
        if type(self.minor) is not int or self.minor < 0:
            raise ValueError(f"minor units are whole and not negative, not {self.minor!r}")

    @classmethod
    def parse(cls, text: str, code: str) -> Self:
        """Exactly the amount that `text` writes in decimal notation, for example "149.00".

        Nothing is rounded and nothing is guessed: digits, at most one point, no sign, no exponent,
        no thousands separators, no spaces. Refuses the rest (AMOUNT_MALFORMED, AMOUNT_TOO_LARGE,
        CURRENCY_UNKNOWN). Whether Stripe would charge it is `require_chargeable`'s question.
        """
        rule = TABLE[currency(code)]
        found = _AMOUNT.fullmatch(text)
        if found is None:
            raise _malformed(text, rule, "it is not a plain decimal number")
        whole, decimals = found["whole"], found["decimals"] or ""
        if len(decimals) > rule.decimals or (decimals and rule.decimals_written == 0):
            raise _malformed(text, rule, _decimals_of(rule))
        if len(whole) > _LONGEST:
            raise _too_large(text[:40], rule)
        minor = int(whole + decimals.ljust(rule.decimals, "0"))
        if minor % rule.step:
            raise _malformed(text, rule, "Stripe needs its last decimal to be 0")
        return cls(minor, rule.code)

    @property
    def decimal(self) -> str:
        """The amount in plain decimal notation ("5000.00"); `parse` reads it back."""
        return self._written(grouped=False)

    @property
    def display(self) -> str:
        """The amount for people: "149.00 EUR", "5,000 JPY"."""
        if self.currency not in TABLE:
            return f"{self.minor:,} minor units of {self.currency.upper()}"
        return f"{self._written(grouped=True)} {self.currency.upper()}"

    @property
    def below_minimum(self) -> bool:
        """Stripe refuses to charge so little, even before any conversion. Nothing is too little."""
        return self.minor < max(self._rule.minimum, self._rule.step)

    @property
    def above_maximum(self) -> bool:
        """The amount has more digits than Stripe takes."""
        return self.minor >= 10**self._rule.digits

    def require_chargeable(self) -> None:
        """Pass if Stripe takes the amount; refuse it otherwise (AMOUNT_TOO_SMALL, _TOO_LARGE)."""
        if self.below_minimum:
            least = Money(max(self._rule.minimum, self._rule.step), self.currency)
            raise Refusal(Code.AMOUNT_TOO_SMALL, amount=self.display, minimum=least.display)
        if self.above_maximum:
            raise _too_large(self.display, self._rule)

    def __lt__(self, other: "Money") -> bool:
        """Less, within one currency. Refuses another one (CURRENCY_MISMATCH), as all four do."""
        return self.minor < self._comparable(other)

    def __le__(self, other: "Money") -> bool:
        """At most as much."""
        return self.minor <= self._comparable(other)

    def __gt__(self, other: "Money") -> bool:
        """More."""
        return self.minor > self._comparable(other)

    def __ge__(self, other: "Money") -> bool:
        """At least as much."""
        return self.minor >= self._comparable(other)

    def _comparable(self, other: "Money") -> int:
        if other.currency != self.currency:
            raise Refusal(Code.CURRENCY_MISMATCH, left=self.display, right=other.display)
        return other.minor

    @property
    def _rule(self) -> Rule:
        return TABLE.get(self.currency) or Rule(self.currency)

    def _written(self, *, grouped: bool) -> str:
        whole, rest = divmod(self.minor, 10**self._rule.decimals)
        units = f"{whole:,}" if grouped else str(whole)
        # A rest where none is written can only have come from outside: show it, never drop it.
        if self._rule.decimals_written == 0 and rest == 0:
            return units
        return f"{units}.{rest:0{self._rule.decimals}d}"


def _malformed(text: str, rule: Rule, reason: str) -> Refusal:
    code, example = rule.code.upper(), Money(max(rule.minimum, 10 * 10**rule.decimals), rule.code)
    return Refusal(
        Code.AMOUNT_MALFORMED,
        text=text[:40],
        currency=code,
        reason=reason,
        example=example.decimal,
    )


def _too_large(shown: str, rule: Rule) -> Refusal:
    most = Money((10**rule.digits - 1) // rule.step * rule.step, rule.code)
    return Refusal(Code.AMOUNT_TOO_LARGE, amount=shown, maximum=most.display)


def _decimals_of(rule: Rule) -> str:
    if rule.decimals_written == 0:
        return "this currency has no decimals"
    return f"this currency has {rule.decimals} decimals"

"""Amounts, dates and sentences in the customer's language; Babel knows how each is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from babel import Locale as Region
from babel import UnknownLocaleError
from babel.dates import format_date
from babel.numbers import format_currency

from anchorhold.domain import currencies
from anchorhold.domain.money import Money
from anchorhold.domain.page_link import Locale
from anchorhold.web.page.words import WORDS

LANGUAGES: Final = {locale.value: locale for locale in Locale}
ACCEPT_MAX: Final = 200
"""So much of an Accept-Language header is read."""


@dataclass(frozen=True, slots=True)
class Speech:
    """One customer's language: the page's words, and how amounts and dates are written."""

    words: Locale
    written: Region

    def say(self, name: str, facts: Mapping[str, str]) -> str:
        """The sentence of this name with the facts in it."""
        return WORDS[name][self.words].format_map(facts)

    def money(self, amount: int, currency: str) -> str:
        """An amount in minor units as the customer writes it; never rounded."""
        value = Decimal(Money(amount, currencies.currency(currency)).decimal)
        return format_currency(
            value, currency.upper(), locale=self.written, decimal_quantization=False
        )

    def date(self, at: datetime) -> str:
        """A day, in UTC."""
        return format_date(at.date(), format="long", locale=self.written)

    @property
    def tag(self) -> str:
        """The language as HTML names it."""
        return str(self.written).replace("_", "-")


def speech(asked: Locale | None, accept: str | None) -> Speech:
    """The link's own language, else the first that the browser likes and we have, else English.

    A region that the browser names decides how amounts and dates are written (de-AT, en-GB).
    """
    liked = list(_liked(accept or ""))
    for tag in liked:
        if asked is not None and tag.language != asked.value:
            continue
        if tag.language in LANGUAGES:
            return Speech(LANGUAGES[tag.language], tag)
    words = asked or Locale.EN
    return Speech(words, Region(words.value))


def _liked(accept: str) -> list[Region]:
    """The locales of an Accept-Language header that Babel knows, in the browser's order."""
    found = []
    for part in accept[:ACCEPT_MAX].split(","):
        tag, _, weight = part.strip().partition(";")
        locale = _parsed(tag)
        if locale is not None and not weight.replace(" ", "").startswith("q=0.0"):
            found.append(locale)
    return found


def _parsed(tag: str) -> Region | None:
    try:
        return Region.parse(tag, sep="-")
    except (ValueError, TypeError, UnknownLocaleError):
        return None

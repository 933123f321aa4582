"""The currencies Stripe charges, and how it counts each one, as one literal table.

Source: Stripe's page "Supported currencies" (presentment currencies, zero-decimal currencies,
special cases, minimum and maximum charge amounts), and its note on three-decimal currencies.
"""

from dataclasses import dataclass
from typing import Final, NewType

from anchorhold.domain.refusals import Code, Refusal

Currency = NewType("Currency", str)
"""A currency code in lower case. `currency()` makes one from input, checked against `TABLE`;
what Stripe itself reports is taken as it is, listed or not, because money that arrived must be
recorded whatever it is called."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How Stripe counts one currency; everything in its minor units."""

    code: Currency
    decimals: int = 2
    """Digits of the minor unit: 2 means that 100 minor units are one unit."""
    step: int = 1
    """Amounts must be a multiple of it."""
    minimum: int = 1
    """The least charge when Stripe also settles in this currency; 1 where the page lists none
    (the minimum of the settlement currency then applies after conversion)."""
    digits: int = 8
    """The most digits that an amount may have."""

    @property
    def decimals_written(self) -> int:
        """Decimals that people write: none where Stripe wants them to be 00."""
        return 0 if self.step == 10**self.decimals else self.decimals


# fmt: off
_EXCEPTIONS: Final = (
    #                     decimals     step       minimum        digits
    Rule(Currency("usd"),                         minimum=50),
    Rule(Currency("aed"),                         minimum=200),
    Rule(Currency("aud"),                         minimum=50),
    Rule(Currency("bgn"),                         minimum=100),
    Rule(Currency("brl"),                         minimum=50),
    Rule(Currency("cad"),                         minimum=50),
    Rule(Currency("chf"),                         minimum=50),
    Rule(Currency("czk"),                         minimum=1500),
    Rule(Currency("dkk"),                         minimum=250),
    Rule(Currency("eur"),                         minimum=50),
    Rule(Currency("gbp"),                         minimum=30),
    Rule(Currency("hkd"),                         minimum=400),
    # Two decimals for charges; whole units only for payouts, which are not ours.
    Rule(Currency("huf"),                         minimum=17500, digits=10),
    Rule(Currency("inr"),                         minimum=50,    digits=9),
    Rule(Currency("mxn"),                         minimum=1000),
    Rule(Currency("myr"),                         minimum=200),
    Rule(Currency("nok"),                         minimum=300),
    Rule(Currency("nzd"),                         minimum=50),
    Rule(Currency("pln"),                         minimum=200),
    Rule(Currency("ron"),                         minimum=200),
    Rule(Currency("sek"),                         minimum=300),
    Rule(Currency("sgd"),                         minimum=50),
    Rule(Currency("thb"),                         minimum=1000),
    # Higher maximums; those of COP and LBP (like HUF and JPY) hold for cards.
    Rule(Currency("cop"),                                        digits=10),
    Rule(Currency("idr"),                                        digits=12),
    Rule(Currency("lbp"),                                        digits=11),
    # No minor unit.
    Rule(Currency("bif"), decimals=0),
    Rule(Currency("clp"), decimals=0),
    Rule(Currency("djf"), decimals=0),
    Rule(Currency("gnf"), decimals=0),
    Rule(Currency("jpy"), decimals=0,             minimum=50,    digits=10),
    Rule(Currency("kmf"), decimals=0),
    Rule(Currency("krw"), decimals=0),
    Rule(Currency("mga"), decimals=0),
    Rule(Currency("pyg"), decimals=0),
    Rule(Currency("rwf"), decimals=0),
    Rule(Currency("vnd"), decimals=0),
    Rule(Currency("vuv"), decimals=0),
    Rule(Currency("xaf"), decimals=0),
    Rule(Currency("xof"), decimals=0),
    Rule(Currency("xpf"), decimals=0),
    # No minor unit any more, yet sent with two decimals that are always 00.
    Rule(Currency("isk"),              step=100),
    Rule(Currency("ugx"),              step=100),
    # Three decimals, of which the last must be 0.
    Rule(Currency("bhd"), decimals=3,  step=10),
    Rule(Currency("jod"), decimals=3,  step=10),
    Rule(Currency("kwd"), decimals=3,  step=10),
    Rule(Currency("omr"), decimals=3,  step=10),
    Rule(Currency("tnd"), decimals=3,  step=10),
)

_ORDINARY: Final = (
    "afn", "all", "amd", "ang", "aoa", "ars", "awg", "azn", "bam", "bbd", "bdt", "bmd", "bnd",
    "bob", "bsd", "bwp", "byn", "bzd", "cdf", "cny", "crc", "cve", "dop", "dzd", "egp", "etb",
    "fjd", "fkp", "gel", "gip", "gmd", "gtq", "gyd", "hnl", "htg", "ils", "jmd", "kes", "kgs",
    "khr", "kyd", "kzt", "lak", "lkr", "lrd", "lsl", "mad", "mdl", "mkd", "mmk", "mnt", "mop",
    "mur", "mvr", "mwk", "mzn", "nad", "ngn", "nio", "npr", "pab", "pen", "pgk", "php", "pkr",
    "qar", "rsd", "rub", "sar", "sbd", "scr", "shp", "sle", "sos", "srd", "std", "szl", "tjs",
    "top", "try", "ttd", "twd", "tzs", "uah", "uyu", "uzs", "wst", "xcd", "yer", "zar", "zmw",
)
# fmt: on

TABLE: Final = {
    rule.code: rule for rule in (*_EXCEPTIONS, *(Rule(Currency(code)) for code in _ORDINARY))
}
"""Every currency that Stripe charges."""


def currency(text: str) -> Currency:
    """The currency that `text` names, in either case. Refuses any other (CURRENCY_UNKNOWN)."""
    code = Currency(text.lower())
    # Lower case alone would turn look-alikes such as the Kelvin sign into ASCII letters.
    if not text.isascii() or code not in TABLE:
        raise Refusal(Code.CURRENCY_UNKNOWN, currency=text[:40])
    return code

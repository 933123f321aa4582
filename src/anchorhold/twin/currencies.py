"""Amounts as Stripe takes them: supported currencies, minimums, maximums, the three-decimal rule.

Source: https://docs.stripe.com/currencies. Minimums are known for settlement currencies only;
Stripe converts the others, the twin asks at least one minor unit of them.
"""

from anchorhold.twin.errors import invalid


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SUPPORTED = _words(
    "aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp byn "
    "bzd cad cdf chf clp cny cop crc cve czk djf dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd "
    "gnf gtq gyd hkd hnl htg huf idr ils inr isk jmd jod jpy kes kgs khr kmf krw kwd kyd kzt lak "
    "lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd "
    "omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd scr sek sgd shp sle sos srd std "
    "szl thb tjs tnd top try ttd twd tzs uah ugx usd uyu uzs vnd vuv wst xaf xcd xcg xof xpf yer "
    "zar zmw"
)

ZERO_DECIMAL = _words("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf")
THREE_DECIMAL = _words("bhd jod kwd omr tnd")

MINIMUM = {
    "usd": 50, "aed": 200, "aud": 50, "bgn": 100, "brl": 50, "cad": 50, "chf": 50, "czk": 1500,
    "dkk": 250, "eur": 50, "gbp": 30, "hkd": 400, "huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000,
    "myr": 200, "nok": 300, "nzd": 50, "pln": 200, "ron": 200, "sek": 300, "sgd": 50, "thb": 1000,
}  # fmt: skip

DIGITS = {"inr": 9, "idr": 12, "jpy": 10, "huf": 10, "cop": 10, "lbp": 11}
"""How many digits an amount may have; 8 where nothing is said."""


def decimals(currency: str) -> int:
    """How many decimal places the currency's amounts have at Stripe."""
    if currency in ZERO_DECIMAL:
        return 0
    return 3 if currency in THREE_DECIMAL else 2


def shown(amount: int, currency: str) -> str:
    """The amount as Stripe's sentences show it, such as `0.50 usd`."""
    places = decimals(currency)
    if places == 0:
        return f"{amount} {currency}"
    whole, part = divmod(amount, 10**places)
    return f"{whole}.{part:0{places}d} {currency}"


def check_amount(amount: int, currency: str, param: str = "amount") -> None:
    """Nothing, or the 400 that Stripe gives for this amount of this currency."""
    least = MINIMUM.get(currency, 1)
    if amount < least:
        raise invalid(
            f"Amount must be at least {shown(least, currency)}",
            code="amount_too_small",
            param=param,
        )
    most = 10 ** DIGITS.get(currency, 8) - 1
    if amount > most:
        raise invalid(
            f"Amount must be no more than {shown(most, currency)}",
            code="amount_too_large",
            param=param,
        )
    if currency in THREE_DECIMAL and amount % 10:
        raise invalid(
            f"Invalid amount: the last digit of an amount in {currency} must be 0",
            code="parameter_invalid_integer",
            param=param,
        )

"""The account itself and its balance, as far as a permission probe needs them."""

from anchorhold.twin.params import ListOf, Param
from anchorhold.twin.state import Call
from anchorhold.twin.wire import Obj

RETRIEVE: dict[str, Param] = {"expand": ListOf()}
_CURRENCY = {"US": "usd", "GB": "gbp", "JP": "jpy"}


def retrieve(call: Call) -> Obj:
    """GET /v1/account: the account that the key belongs to."""
    account = call.account
    return {
        "id": account.id,
        "object": "account",
        "business_type": "company",
        "capabilities": {
            "bacs_debit_payments": "active",
            "card_payments": "active",
            "sepa_debit_payments": "active",
            "transfers": "active",
            "us_bank_account_ach_payments": "active",
        },
        "charges_enabled": True,
        "country": account.country,
        "default_currency": _CURRENCY.get(account.country, "eur"),
        "details_submitted": True,
        "email": None,
        "payouts_enabled": True,
        "type": "standard",
    }


def balance(call: Call) -> Obj:
    """GET /v1/balance: what was taken less what was refunded, per currency, as available."""
    sums: dict[str, int] = {}
    for charge in call.account.charges:
        if charge["status"] == "succeeded":
            left = charge["amount_captured"] - charge["amount_refunded"]
            sums[charge["currency"]] = sums.get(charge["currency"], 0) + left
    available = [
        {"amount": amount, "currency": currency, "source_types": {"card": amount}}
        for currency, amount in sorted(sums.items())
    ]
    return {
        "object": "balance",
        "available": available or [{"amount": 0, "currency": "usd", "source_types": {"card": 0}}],
        "livemode": call.account.livemode,
        "pending": [],
    }

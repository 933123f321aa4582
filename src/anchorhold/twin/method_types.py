"""Which payment method types a PaymentIntent takes.

Sources: https://docs.stripe.com/changelog/dahlia/2026-07-29/allowed-payment-method-types-parameter
and .../changelog/endive/2026-09-30/removes-the-payment-method-types-parameter-from-payment-intents-
and-setup-intents. An account of the twin has switched on what the twin simulates, and no more.
"""

from typing import Any

from anchorhold.twin.errors import invalid
from anchorhold.twin.params import ListOf, OneOf
from anchorhold.twin.settings import API_VERSION
from anchorhold.twin.versions import Dated, Since, Until
from anchorhold.twin.wire import Obj

CURRENCY = {"us_bank_account": "usd", "sepa_debit": "eur", "bacs_debit": "gbp"}
"""The only currency of a type; a card takes every one."""

_WORDS = (
    "acss_debit affirm afterpay_clearpay alipay alma amazon_pay au_becs_debit bacs_debit "
    "bancontact billie bizum blik boku_promptpay boleto capchase_pay card card_present "
    "cashapp check_scan click_to_pay crypto customer_balance demo_pay duitnow "
    "dummy_auth_push dummy_passthrough_card edenred eps fpx gcash getbalance gift_card "
    "giropay gopay grabpay id_bank_transfer ideal interac_present kakao_pay klarna knet "
    "konbini kr_card kr_market kriya link mb_way mobilepay momo mondu multibanco naver_pay "
    "netbanking ng_bank ng_bank_transfer ng_card ng_market ng_ussd ng_wallet "
    "nz_bank_account octopus oxxo p24 paper_check pay_by_bank payco paynow paypal paypay "
    "payto pix promptpay qris rechnung revolut_pay samsung_pay satispay scalapay "
    "sepa_debit sequra shop_pay shopeepay sofort south_korea_market stripe_balance sunbit "
    "swish tamara test_pay touch_n_go truemoney twint upi us_bank_account us_cash_voucher "
    "vipps wechat_pay wero zip"
)
ALLOWED = tuple(_WORDS.split())
"""What `allowed_payment_method_types` may name."""

PARAMS: dict[str, Dated] = {
    "allowed_payment_method_types": Since("2026-07-29", ListOf(OneOf(ALLOWED))),
    "payment_method_types": Until(
        "2026-09-30",
        ListOf(),
        preview="2026-08-26",
        code="payment_method_types_no_longer_supported",
    ),
}
_EXCLUSIVE = ("allowed_payment_method_types", "automatic_payment_methods", "payment_method_types")


def check(params: dict[str, Any]) -> None:
    """400 when the types are chosen in two ways at once."""
    given = [name for name in _EXCLUSIVE if name in params]
    if len(given) > 1:
        raise invalid(
            f"You may only specify one of these parameters: {', '.join(given)}.", param=given[-1]
        )


def fields(params: dict[str, Any], currency: str, version: str = API_VERSION) -> Obj:
    """What a new intent shows of its types.

    Before 2023-08-16 an intent for which nothing was chosen took cards and no more.
    """
    if version[:10] < "2023-08-16" and not any(name in params for name in _EXCLUSIVE):
        params = {**params, "payment_method_types": ["card"]}
    allowed, listed = params.get("allowed_payment_method_types"), params.get("payment_method_types")
    automatic = None
    if allowed is None and listed is None:
        automatic = _automatic(params)
    return {
        "allowed_payment_method_types": allowed,
        "automatic_payment_methods": automatic,
        "payment_method_types": listed or _compatible(allowed or ["card", *CURRENCY], currency),
    }


def changed(intent: Obj, params: dict[str, Any], currency: str) -> Obj:
    """What an intent shows of its types after an update or a confirm; its currency counts."""
    if not any(name in params for name in PARAMS):
        allowed = intent["allowed_payment_method_types"]
        if allowed is None or currency == intent["currency"]:
            return {}
        params = {"allowed_payment_method_types": allowed}
    return fields(params, currency)


def _automatic(params: dict[str, Any]) -> Obj | None:
    given = params.get("automatic_payment_methods", {"enabled": True})
    return {"allow_redirects": "always", **given} if given["enabled"] else None


def _compatible(kinds: list[str], currency: str) -> list[str]:
    found = [kind for kind in kinds if kind == "card" or CURRENCY.get(kind) == currency]
    if not found:
        raise invalid(
            f"None of the payment method types given ({', '.join(kinds)}) can be used for this "
            f"PaymentIntent in {currency}."
        )
    return found

"""What the endpoints of payment methods take. Source: .../docs/api/payment_methods."""

from anchorhold.twin.lists import PAGING
from anchorhold.twin.params import (
    Hash,
    Int,
    ListOf,
    Metadata,
    NotSimulated,
    OneOf,
    Opaque,
    Param,
    Str,
)
from anchorhold.twin.versions import Dated, Until

TYPES = ("card", "us_bank_account", "sepa_debit", "bacs_debit")
"""The types that the twin simulates."""

ADDRESS = ("city", "country", "line1", "line2", "postal_code", "state")
_BILLING: dict[str, Param] = {
    "address": Hash(dict.fromkeys(ADDRESS, Str(clear=True)), clear=True),
    "email": Str(clear=True),
    "name": Str(clear=True),
    "phone": Str(clear=True),
    "tax_id": Str(),
}
_CARD: dict[str, Param] = {
    "number": Str(),
    "exp_month": Int(1, 12),
    "exp_year": Int(),
    "cvc": Str(),
    "token": Str(),
    "networks": Opaque(),
}
_BANK: dict[str, Param] = {
    "account_number": Str(),
    "routing_number": Str(),
    "account_holder_type": OneOf(("company", "individual")),
    "account_type": OneOf(("checking", "savings")),
    "financial_connections_account": NotSimulated(),
}
_OTHER_TYPES = (
    "acss_debit affirm afterpay_clearpay alipay alma amazon_pay au_becs_debit "
    "bancontact billie bizum blik boleto cashapp crypto customer_balance eps fpx giropay grabpay "
    "ideal interac_present kakao_pay klarna konbini kr_card link mb_way mobilepay multibanco "
    "naver_pay nz_bank_account oxxo p24 pay_by_bank payco paynow paypal paypay payto pix promptpay "
    "revolut_pay samsung_pay satispay scalapay sequra sofort sunbit swish twint upi wechat_pay zip"
)
DATA: dict[str, Param] = {
    **dict.fromkeys(_OTHER_TYPES.split(), NotSimulated()),
    "type": OneOf(TYPES),
    "card": Hash(_CARD),
    "us_bank_account": Hash(_BANK),
    "sepa_debit": Hash({"iban": Str()}, ("iban",)),
    "bacs_debit": Hash({"account_number": Str(), "sort_code": Str()}),
    "billing_details": Hash(_BILLING),
    "allow_redisplay": OneOf(("always", "limited", "unspecified")),
    "metadata": Metadata(),
    "radar_options": Opaque(),
}
CREATE: dict[str, Param] = {
    **DATA,
    **dict.fromkeys(("custom", "customer", "payment_method"), NotSimulated()),
    "expand": ListOf(),
}
UPDATE: dict[str, Dated] = {
    "billing_details": Hash(_BILLING),
    "metadata": Metadata(),
    "allow_redisplay": OneOf(("always", "limited", "unspecified")),
    "card": Hash({"exp_month": Int(1, 12), "exp_year": Int(), "networks": Opaque()}),
    "expand": ListOf(),
    "payto": Until("2026-09-30", NotSimulated()),
    "us_bank_account": NotSimulated(),
}
ATTACH: dict[str, Param] = {
    "customer": Str(),
    "customer_account": NotSimulated(),
    "expand": ListOf(),
}
DETACH: dict[str, Param] = {"expand": ListOf()}
RETRIEVE: dict[str, Param] = {"expand": ListOf()}
LIST: dict[str, Param] = {
    **PAGING,
    "customer": Str(),
    "customer_account": NotSimulated(),
    "type": OneOf(TYPES),
    "allow_redisplay": OneOf(("always", "limited", "unspecified")),
}
LIST_OF_CUSTOMER: dict[str, Param] = {
    name: param for name, param in LIST.items() if not name.startswith("customer")
}

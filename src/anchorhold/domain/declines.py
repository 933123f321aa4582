"""What a decline means for collecting: who has to act before the next try, as a literal table.

Source: Stripe's pages "Stripe decline codes" (card and local payment method codes), "Card
declines" (advice codes) and "Error codes" (card_decline_rate_limit_exceeded).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from anchorhold.domain.answer import Decline


class Remedy(IntEnum):
    """What has to happen before this invoice is charged again by itself, mildest first."""

    RETRY_LATER = 1
    """Nothing: the next try of the schedule may succeed."""
    WAIT_A_DAY = 2
    """Nothing, but not within 24 hours."""
    ASK_CUSTOMER = 3
    """The customer authenticates, or speaks with the bank; the payment page takes the money."""
    NEW_METHOD = 4
    """The customer gives another payment method, which triggers a try at once."""
    NEVER = 5
    """An operator decides; no payment method is charged for it without one."""


@dataclass(frozen=True, slots=True)
class DeclineRow:
    """One code. `private`: the customer is told no more than that the bank said no."""

    code: str
    remedy: Remedy
    sentence: str
    private: bool = False

    @property
    def for_customer(self) -> str:
        """The sentence for the customer: Stripe asks to hide some reasons from whoever pays."""
        return DEFAULT.sentence if self.private else self.sentence


DEFAULT: Final = DeclineRow(
    "generic_decline", Remedy.RETRY_LATER, "The bank declined without giving a reason."
)
"""What a code that is not in the table means: Stripe adds codes, and most are temporary."""

_R, _W, _A = Remedy.RETRY_LATER, Remedy.WAIT_A_DAY, Remedy.ASK_CUSTOMER
_N, _X = Remedy.NEW_METHOD, Remedy.NEVER

# fmt: off
_ROWS: Final = (
    DEFAULT,
    # Another try may succeed.
    DeclineRow("approve_with_id", _R, "The bank could not authorize the payment this time."),
    DeclineRow("call_issuer", _R, "The bank declined and wants to speak with its customer."),
    DeclineRow("do_not_honor", _R, "The bank declined without giving a reason to anybody."),
    DeclineRow("insufficient_funds", _R, "There was not enough money for this payment."),
    DeclineRow("issuer_not_available", _R, "The bank could not be reached."),
    DeclineRow("no_action_taken", _R, "The bank did not act on the payment."),
    DeclineRow("partner_generic_decline", _R, "The payment provider declined."),
    DeclineRow("partner_payment_not_found", _R, "The payment provider did not find the payment."),
    DeclineRow("processing_error", _R, "The payment could not be processed this time."),
    DeclineRow("reenter_transaction", _R, "The bank could not process the payment this time."),
    DeclineRow("try_again_later", _R, "The bank declined for now."),
    # Another try may succeed, but not today.
    DeclineRow("card_decline_rate_limit_exceeded", _W, "The card was declined too often today."),
    DeclineRow("card_velocity_exceeded", _W, "A limit of the card is used up for now."),
    DeclineRow("duplicate_transaction", _W, "The bank saw such a payment moments ago."),
    DeclineRow("payment_limit_exceeded", _W, "A limit of the customer's account is used up."),
    DeclineRow("withdrawal_count_limit_exceeded", _W, "The card was used too often for now."),
    # The customer has to do something.
    DeclineRow("authentication_required", _A, "The bank wants a confirmation of the payment."),
    DeclineRow("authentication_not_handled", _A, "The bank asked for a confirmation and got none."),
    DeclineRow("mobile_device_authentication_required", _A,
               "The bank wants the payment to be confirmed on the customer's device."),
    DeclineRow("incorrect_address", _A, "The billing address is not the one the bank knows."),
    DeclineRow("incorrect_zip", _A, "The postal code is not the one the bank knows."),
    DeclineRow("invalid_amount", _A, "The bank does not allow a payment of this amount."),
    DeclineRow("invalid_customer_account", _A, "The customer's account cannot be charged for now."),
    DeclineRow("not_permitted", _A, "The bank does not permit this payment."),
    DeclineRow("payment_disputed", _A, "The customer disputes the payment."),
    DeclineRow("service_not_allowed", _A, "The bank does not allow this service."),
    DeclineRow("transaction_not_allowed", _A, "The bank does not allow this kind of payment."),
    # This payment method is of no use any more.
    DeclineRow("card_not_supported", _N, "The card cannot be used for payments of this kind."),
    DeclineRow("currency_not_supported", _N, "The card cannot be charged in this currency."),
    DeclineRow("do_not_try_again", _N, "The bank wants no further try with this card."),
    DeclineRow("expired_card", _N, "The card has expired."),
    DeclineRow("expired_payment_information", _N, "The payment method has expired."),
    DeclineRow("incorrect_cvc", _N, "The security code is not correct."),
    DeclineRow("incorrect_number", _N, "The card number is not correct."),
    DeclineRow("incorrect_pin", _N, "The PIN is not correct."),
    DeclineRow("invalid_account", _N, "The card or its account is not valid."),
    DeclineRow("invalid_authorization", _N, "The authorization was withdrawn or is not valid."),
    DeclineRow("invalid_billing_agreement", _N, "The billing agreement is not valid any more."),
    DeclineRow("invalid_cvc", _N, "The security code cannot be right."),
    DeclineRow("invalid_expiry_month", _N, "The month of expiry cannot be right."),
    DeclineRow("invalid_expiry_year", _N, "The year of expiry cannot be right."),
    DeclineRow("invalid_number", _N, "The card number cannot be right."),
    DeclineRow("invalid_payment_information", _N, "The payment method's details are not valid."),
    DeclineRow("invalid_pin", _N, "The PIN cannot be right."),
    DeclineRow("new_account_information_available", _N, "The bank has issued new card details."),
    DeclineRow("offline_pin_required", _N, "The card works only with its PIN in a card reader."),
    DeclineRow("online_or_offline_pin_required", _N, "The card works only with its PIN."),
    DeclineRow("pin_try_exceeded", _N, "The PIN was entered wrongly too often."),
    DeclineRow("testmode_decline", _N, "A test card was used for a real payment."),
    DeclineRow("lost_card", _N, "The card is reported lost.", private=True),
    DeclineRow("pickup_card", _N, "The bank has withdrawn the card.", private=True),
    DeclineRow("restricted_card", _N, "The bank has restricted the card.", private=True),
    DeclineRow("security_violation", _N, "The bank saw a breach of security.", private=True),
    DeclineRow("stolen_card", _N, "The card is reported stolen.", private=True),
    # Nothing more happens by itself.
    DeclineRow("compliance_violation", _X, "The payment breaks a rule or a law.", private=True),
    DeclineRow("fraudulent", _X, "Stripe suspects fraud.", private=True),
    DeclineRow("invalid_business_account", _X, "Our account cannot receive money.", private=True),
    DeclineRow("merchant_blacklist", _X, "Our own block list matches.", private=True),
    DeclineRow("partner_high_risk_customer", _X, "The provider sees a high risk.", private=True),
    DeclineRow("revocation_of_all_authorizations", _X,
               "The customer stopped all our payments at the bank."),
    DeclineRow("revocation_of_authorization", _X, "The customer stopped this payment at the bank."),
    DeclineRow("stop_payment_order", _X, "The customer ordered the bank to stop payments."),
)

ADVICE: Final = {
    "try_again_later": Remedy.RETRY_LATER,
    "confirm_card_data": Remedy.ASK_CUSTOMER,
    "do_not_try_again": Remedy.NEW_METHOD,
}
"""What Stripe's advice asks for at the least; it makes a remedy stricter and never milder."""
# fmt: on

TABLE: Final = {row.code: row for row in _ROWS}
"""Every code Stripe documents."""


def row_of(decline: Decline) -> DeclineRow:
    """The row of the strictest code that the decline carries; `DEFAULT` if none is known."""
    codes = (decline.decline_code or "", decline.code)
    known = [TABLE[code] for code in codes if code in TABLE]
    return max(known, key=lambda row: row.remedy, default=DEFAULT)


def remedy_of(decline: Decline) -> Remedy:
    """What has to happen before the next try: the stricter of code and advice."""
    advice = ADVICE.get(decline.advice_code or "", Remedy.RETRY_LATER)
    return max(row_of(decline).remedy, advice)

"""Stripe's test cards and test bank accounts, and what each of them does.

Source: https://docs.stripe.com/testing, .../payments/ach-direct-debit, .../sepa-debit and
.../payments/bacs-debit/accept-a-payment.
A card may be given as `pm_card_…`, as the token `tok_…` of the same name, or by its number.
"""

from dataclasses import dataclass
from enum import Enum


class Authentication(Enum):
    """When the bank asks the customer to authenticate."""

    NEVER = "never"
    ALWAYS = "always"
    """On session it is asked for; off session the payment is declined."""
    UNLESS_SET_UP = "unless_set_up"
    """As ALWAYS, but off session is fine once an authenticated payment saved the card."""
    ON_SESSION = "on_session"
    """Set up already: off session is fine, on session it is asked for."""


class Debit(Enum):
    """How a bank debit ends after `processing`."""

    PAYS = "pays"
    FAILS = "fails"
    PAYS_THEN_DISPUTED = "pays_then_disputed"
    NEVER_ENDS = "never_ends"


class RefundFate(Enum):
    """How a refund of a charge with this card goes."""

    SUCCEEDS = "succeeds"
    PENDING = "pending"
    FAILS_LATER = "fails_later"


@dataclass(frozen=True, slots=True)
class Decline:
    """Why a bank says no: error code, decline code, advice, the parameter it points at."""

    code: str
    decline_code: str
    message: str
    advice: str | None = None
    param: str | None = None


GENERIC = Decline("card_declined", "generic_decline", "Your card was declined.", "try_again_later")
NO_FUNDS = Decline(
    "card_declined", "insufficient_funds", "Your card has insufficient funds.", "try_again_later"
)
LOST = Decline("card_declined", "lost_card", "Your card was declined.", "do_not_try_again")
STOLEN = Decline("card_declined", "stolen_card", "Your card was declined.", "do_not_try_again")
EXPIRED = Decline(
    "expired_card", "expired_card", "Your card has expired.", "confirm_card_data", "exp_month"
)
BAD_CVC = Decline(
    "incorrect_cvc",
    "incorrect_cvc",
    "Your card's security code is incorrect.",
    "confirm_card_data",
    "cvc",
)
PROCESSING_ERROR = Decline(
    "processing_error",
    "processing_error",
    "An error occurred while processing your card. Try again in a little bit.",
    "try_again_later",
)
TOO_OFTEN = Decline(
    "card_declined",
    "card_velocity_exceeded",
    "Your card was declined for making repeated attempts too frequently or exceeding its amount "
    "limit.",
    "try_again_later",
)
BLOCKED = Decline("card_declined", "fraudulent", "Your card was declined.")
NEEDS_CUSTOMER = Decline(
    "authentication_required",
    "authentication_required",
    "Your card was declined. This transaction requires authentication.",
)
NOT_HANDLED = Decline(
    "authentication_required",
    "authentication_not_handled",
    "This payment required an authentication action to complete, but `error_on_requires_action` "
    "was set. When you're ready, you can upgrade your integration to handle actions at "
    "https://stripe.com/docs/payments/payment-intents/upgrade-to-handle-actions.",
)


@dataclass(frozen=True, slots=True)
class Instrument:
    """One test card or bank account. `token` is the part after `pm_` or `tok_`."""

    token: str
    number: str
    brand: str = "visa"
    type: str = "card"
    country: str = "US"
    funding: str = "credit"
    decline: Decline | None = None
    """What every charge of it ends in (after authentication, where that is asked for)."""
    attaches: bool = True
    """False: attaching it to a customer is declined as well."""
    authentication: Authentication = Authentication.NEVER
    dispute: str | None = None
    """Reason of the dispute that follows a success."""
    refund: RefundFate = RefundFate.SUCCEEDS
    debit: Debit = Debit.PAYS
    failure: str | None = None
    """failure_code of the charge when a debit fails."""
    slow: bool = False
    """A debit that takes at least three minutes."""


def _declining(name: str, number: str, why: Decline) -> tuple[Instrument, ...]:
    """One declining card under both spellings that Stripe's pages have used."""
    return tuple(
        Instrument(f"card_{brand}{name}", number, decline=why, attaches=False)
        for brand in ("", "visa_")
    )


# fmt: off
CARDS = (
    Instrument("card_visa",                "4242424242424242"),
    Instrument("card_us",                  "4242424242424242"),
    Instrument("card_visa_debit",          "4000056655665556", funding="debit"),
    Instrument("card_mastercard",          "5555555555554444", "mastercard"),
    Instrument("card_mastercard_debit",    "5200828282828210", "mastercard", funding="debit"),
    Instrument("card_mastercard_prepaid",  "5105105105105100", "mastercard", funding="prepaid"),
    Instrument("card_amex",                "378282246310005",  "amex"),
    Instrument("card_discover",            "6011111111111117", "discover"),
    Instrument("card_diners",              "3056930009020004", "diners"),
    Instrument("card_jcb",                 "3566002020360505", "jcb", country="JP"),
    Instrument("card_unionpay",            "6200000000000005", "unionpay", country="CN"),
    Instrument("card_gb",                  "4000008260000000", country="GB"),
    Instrument("card_de",                  "4000002760000016", country="DE"),
    Instrument("card_fr",                  "4000002500000003", country="FR"),
    Instrument("card_jp",                  "4000003920000003", country="JP"),
    Instrument("card_ca",                  "4000001240000000", country="CA"),
    Instrument("card_au",                  "4000000360000006", country="AU"),
    *_declining("chargeDeclined",                      "4000000000000002", GENERIC),
    *_declining("chargeDeclinedInsufficientFunds",     "4000000000009995", NO_FUNDS),
    *_declining("chargeDeclinedLostCard",              "4000000000009987", LOST),
    *_declining("chargeDeclinedStolenCard",            "4000000000009979", STOLEN),
    *_declining("chargeDeclinedExpiredCard",           "4000000000000069", EXPIRED),
    *_declining("chargeDeclinedIncorrectCvc",          "4000000000000127", BAD_CVC),
    *_declining("chargeDeclinedProcessingError",       "4000000000000119", PROCESSING_ERROR),
    *_declining("chargeDeclinedVelocityLimitExceeded", "4000000000006975", TOO_OFTEN),
    *_declining("chargeDeclinedFraudulent",            "4100000000000019", BLOCKED),
    Instrument("card_radarBlock",          "4100000000000019", decline=BLOCKED),
    Instrument("card_chargeCustomerFail",  "4000000000000341", decline=GENERIC),
    Instrument("card_authenticationRequired", "4000002760003184",
               authentication=Authentication.ALWAYS),
    Instrument("card_authenticationRequiredOnSetup", "4000002500003155",
               authentication=Authentication.UNLESS_SET_UP),
    Instrument("card_authenticationRequiredSetupForOffSession", "4000003800000446",
               authentication=Authentication.ON_SESSION),
    Instrument("card_authenticationRequiredChargeDeclinedInsufficientFunds", "4000008260003178",
               authentication=Authentication.ALWAYS, decline=NO_FUNDS),
    Instrument("card_threeDSecure2Required", "4000000000003220",
               authentication=Authentication.ALWAYS),
    Instrument("card_threeDSecureRequired", "4000000000003063",
               authentication=Authentication.ALWAYS),
    Instrument("card_threeDSecureRequiredChargeDeclined", "4000008400001629",
               authentication=Authentication.ALWAYS, decline=GENERIC),
    Instrument("card_threeDSecureOptional", "4000000000003055"),
    Instrument("card_threeDSecureNotSupported", "378282246310005", "amex"),
    Instrument("card_createDispute",       "4000000000000259", dispute="fraudulent"),
    Instrument("card_createDisputeProductNotReceived", "4000000000002685",
               dispute="product_not_received"),
    Instrument("card_createDisputeInquiry", "4000000000001976", dispute="inquiry"),
    Instrument("card_pendingRefund",       "4000000000007726", refund=RefundFate.PENDING),
    Instrument("card_refundFail",          "4000000000005126", refund=RefundFate.FAILS_LATER),
    Instrument("card_bypassPending",       "4000000000000077"),
)


def _ach(name: str, number: str, debit: Debit, failure: str | None = None) -> Instrument:
    return Instrument(f"usBankAccount_{name}", number, "", "us_bank_account",
                      debit=debit, failure=failure)


def _sepa(name: str, number: str, debit: Debit, failure: str | None = None,
          slow: bool = False) -> Instrument:  # noqa: FBT001, FBT002 - a row of a table
    return Instrument(f"{name}_de", number, "", "sepa_debit", "DE",
                      debit=debit, failure=failure, slow=slow)


def _austrian(name: str, number: str, debit: Debit, failure: str | None = None,
              slow: bool = False) -> Instrument:  # noqa: FBT001, FBT002 - a row of a table
    return Instrument(f"{name}_at", number, "", "sepa_debit", "AT",
                      debit=debit, failure=failure, slow=slow)


def _bacs(name: str, number: str, debit: Debit, failure: str | None = None,
          slow: bool = False) -> Instrument:  # noqa: FBT001, FBT002 - a row of a table
    return Instrument(f"bacsDebit_{name}", number, "", "bacs_debit", "GB",
                      debit=debit, failure=failure, slow=slow)


BANKS = (
    _ach("success",             "000123456789", Debit.PAYS),
    _ach("accountClosed",       "000111111113", Debit.FAILS, "account_closed"),
    _ach("noAccount",           "000111111116", Debit.FAILS, "no_account"),
    _ach("insufficientFunds",   "000222222227", Debit.FAILS, "insufficient_funds"),
    _ach("debitNotAuthorized",  "000333333335", Debit.FAILS, "debit_not_authorized"),
    _ach("invalidCurrency",     "000444444440", Debit.FAILS, "invalid_currency"),
    _ach("dispute",             "000555555559", Debit.PAYS_THEN_DISPUTED),
    _ach("processing",          "000000000009", Debit.NEVER_ENDS),
    _ach("weeklyLimitExceeded", "000777777771", Debit.FAILS, "charge_exceeds_weekly_limit"),
    _sepa("success",            "DE89370400440532013000", Debit.PAYS),
    _sepa("successDelayed",     "DE08370400440532013003", Debit.PAYS, slow=True),
    _sepa("failed",             "DE62370400440532013001", Debit.FAILS,
          "incorrect_account_holder_name"),
    _sepa("failedDelayed",      "DE78370400440532013004", Debit.FAILS,
          "incorrect_account_holder_name", slow=True),
    _sepa("disputed",           "DE35370400440532013002", Debit.PAYS_THEN_DISPUTED),
    _sepa("exceedsWeeklyVolumeLimit",      "DE65370400440000343434", Debit.FAILS,
          "charge_exceeds_source_limit"),
    _sepa("exceedsWeeklyTransactionLimit", "DE27370400440000121212", Debit.FAILS,
          "charge_exceeds_weekly_limit"),
    _sepa("insufficientFunds",  "DE65370400440002222227", Debit.FAILS, "insufficient_funds"),
    _austrian("success",        "AT611904300234573201", Debit.PAYS),
    _austrian("successDelayed", "AT321904300235473204", Debit.PAYS, slow=True),
    _austrian("failed",         "AT861904300235473202", Debit.FAILS,
              "incorrect_account_holder_name"),
    _austrian("failedDelayed",  "AT051904300235473205", Debit.FAILS,
              "incorrect_account_holder_name", slow=True),
    _austrian("disputed",       "AT591904300235473203", Debit.PAYS_THEN_DISPUTED),
    _bacs("success",            "00012345", Debit.PAYS),
    _bacs("successDelayed",     "90012345", Debit.PAYS, slow=True),
    _bacs("debitNotAuthorized", "33333335", Debit.FAILS, "debit_not_authorized"),
    _bacs("debitNotAuthorizedDelayed",  "93333335", Debit.FAILS, "debit_not_authorized", slow=True),
    _bacs("insufficientFunds",  "22222227", Debit.FAILS, "insufficient_funds"),
    _bacs("insufficientFundsDelayed",   "92222227", Debit.FAILS, "insufficient_funds", slow=True),
    _bacs("dispute",            "55555559", Debit.PAYS_THEN_DISPUTED, slow=True),
    _bacs("exceedsWeeklyLimit", "34343434", Debit.FAILS, "charge_exceeds_source_limit"),
    _bacs("exceedsTransactionLimit",    "12121212", Debit.FAILS,
          "charge_exceeds_transaction_limit"),
)
# fmt: on

BY_LITERAL = {f"pm_{one.token}": one for one in CARDS + BANKS}
"""The literal ids that stand wherever a real payment method id can."""

BY_TOKEN = {f"tok_{one.token.removeprefix('card_')}": one for one in CARDS}
"""The literal card tokens, such as `tok_visa`."""

BY_NUMBER = {one.number: one for one in reversed(CARDS + BANKS)}
"""Card numbers, account numbers and IBANs; of two with one number the first row counts."""

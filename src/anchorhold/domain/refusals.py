"""Every "no" the product says: one member of `Code` each, with its sentence and the next step.

The API, the CLI and the pages print the same row, and the reference is generated from `Code`.
A new refusal is one new member. Anything raised to the edge that is not a `Refusal` is a bug.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import unique
from types import MappingProxyType
from typing import Final

from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.dunning_refusals import DunningCode
from anchorhold.domain.page_refusals import PageCode
from anchorhold.domain.refusal_kinds import NOTHING_SENT, Coded, Exit, Kind, Row
from anchorhold.domain.webhook_refusals import WebhookCode

__all__ = ["CODES", "NOTHING_SENT", "Code", "Exit", "Kind", "Refusal", "WebhookCode"]


@unique
class Code(Coded):
    """The table. A member's name in lower case is the code that callers see."""

    # The state says no.
    PAYMENT_IN_FLIGHT = Row(
        Kind.STATE,
        "A charge for invoice {invoice} is being confirmed with Stripe; "
        "next check at {next_check_at}.",
        "Wait for that check, or run it now with `anchorhold hold check {invoice}`.",
    )
    INVOICE_NOT_OPEN = Row(
        Kind.STATE,
        "Invoice {invoice} is {status}, and only an open invoice can be collected or closed.",
        "See what happened to it with `anchorhold invoice story {invoice}`.",
    )
    NOTHING_DUE = Row(
        Kind.STATE,
        "Nothing is due on invoice {invoice}.",
        "See its amounts with `anchorhold invoice show {invoice}`.",
    )
    NOT_DUE_YET = Row(
        Kind.STATE, "Invoice {invoice} is not due before {due_at}.", "Collect it then."
    )
    PAID_MEANWHILE = Row(
        Kind.STATE,
        "Invoice {invoice} was paid at Stripe in the meantime, so it was not changed.",
        "See the payment with `anchorhold invoice show {invoice}`; refund it if it is not wanted.",
    )
    CUSTOMER_IS_PAYING = Row(
        Kind.STATE,
        "The customer is authenticating a payment of invoice {invoice} right now.",
        "Collect it after {next_check_at} if it is still open then.",
    )
    SWEEP_MODE_NEEDS_DIRECT = Row(
        Kind.INPUT,
        "Sweep mode adr is only for accounts that charge directly: others look charges up by id.",
        "Leave out `--sweep-mode adr`, or add `--charge-mode direct`.",
    )
    COLLECTION_BLOCKED = Row(
        Kind.STATE,
        "Collecting invoice {invoice} is blocked: {reason}.",
        "Change its customer, payment method or amount, or connect the account again.",
    )
    PAYMENT_METHOD_MISSING = Row(
        Kind.STATE,
        "Customer {customer} has no payment method that invoice {invoice} could be charged to.",
        "Add one to the customer, or send the customer to the payment page.",
    )
    ACCOUNT_FLAGGED = Row(
        Kind.STATE,
        "Stripe refused the key of account {account}, so nothing is charged with it.",
        "Put in a working key with `anchorhold account connect {account}`.",
    )
    STRIPE_ACCOUNT_CHANGED = Row(
        Kind.STATE,
        "Invoice {invoice} has a PaymentIntent in another Stripe account "
        "than the one connected now.",
        "Connect the former Stripe account again, or write the invoice off.",
    )
    TOO_MANY_TRIES = Row(
        Kind.STATE,
        "Invoice {invoice} was declined {tries} times, and more tries harm the card's standing.",
        "Ask the customer for another way to pay, or write the invoice off.",
    )
    AMOUNT_BELOW_PAID = Row(
        Kind.STATE,
        "{amount} is less than the {paid} that was paid on invoice {invoice} already.",
        "Refund the difference instead.",
    )
    CREDIT_TOO_SMALL = Row(
        Kind.STATE,
        "The credit of customer {customer} does not cover invoice {invoice}.",
        "See the balance with `anchorhold customer credit {customer}`.",
    )
    NOTHING_TO_ABANDON = Row(
        Kind.STATE,
        "Invoice {invoice} has no PaymentIntent in another Stripe account than the connected one.",
        "See where it stands with `anchorhold invoice show {invoice}`.",
    )
    RECOVERY_DUE = Row(
        Kind.STATE,
        "The database of account {account} may have lost its last commits, and Stripe is being "
        "read for what is missing: {reason}.",
        "Nothing is charged until then; run `anchorhold recover` to do it now.",
    )
    HOLD_LIVE = Row(
        Kind.STATE,
        "Invoice {invoice} is being charged by {actor}, until {hold_until} at the latest.",
        "Run the check after that; it is needed only if no answer was saved by then.",
    )
    CHANGED_MEANWHILE = Row(
        Kind.STATE,
        "Invoice {invoice} changed while the question was open, so nothing was done.",
        "Look at it with `anchorhold invoice show {invoice}` and run the command again.",
    )
    ACCOUNT_EXISTS = Row(
        Kind.STATE,
        "There is already an account {name}.",
        "Use it, or choose another name.",
    )
    REFUND_TOO_LARGE = Row(
        Kind.STATE,
        "Payment {payment} has {left} left to refund, and {amount} was asked for.",
        "Ask for no more than that; see it with `anchorhold payment show {payment}`.",
    )
    REFUND_IN_FLIGHT = Row(
        Kind.STATE,
        "A refund of payment {payment} is being confirmed with Stripe.",
        "Wait for the next tick, then see it with `anchorhold payment show {payment}`.",
    )
    PAYMENT_DISPUTED = Row(
        Kind.STATE,
        "Payment {payment} is disputed, and Stripe refunds no disputed payment.",
        "Answer the dispute in Stripe's dashboard; its end is recorded here by itself.",
    )
    PAYMENT_NOT_REFUNDABLE = Row(
        Kind.STATE,
        "Payment {payment} cannot be refunded through Stripe: {reason}.",
        "See it with `anchorhold payment show {payment}`.",
    )
    NOTICE_RESOLVED = Row(
        Kind.STATE,
        "Notice {notice} was resolved already by {by}.",
        "See how with `anchorhold notice show {notice}`.",
    )
    NOTICE_HAS_NO_REFUND = Row(
        Kind.STATE,
        "Notice {notice} is not about a payment that a refund would settle.",
        "See what to do with `anchorhold notice show {notice}`.",
    )

    # It does not exist, or not for this account.
    INVOICE_NOT_FOUND = Row(
        Kind.MISSING, "There is no invoice {id}.", "List them with `anchorhold invoice list`."
    )
    CUSTOMER_NOT_FOUND = Row(
        Kind.MISSING, "There is no customer {id}.", "List them with `anchorhold customer list`."
    )
    ACCOUNT_NOT_FOUND = Row(
        Kind.MISSING, "There is no account {id}.", "Connect one with `anchorhold account connect`."
    )
    ACCOUNT_MISSING = Row(
        Kind.MISSING,
        "There is no account yet.",
        "Make one with `anchorhold account connect`, or start everything with `anchorhold up`.",
    )
    ATTEMPT_NOT_FOUND = Row(
        Kind.MISSING, "There is no attempt {id}.", "List them with `anchorhold attempt list`."
    )
    PAYMENT_NOT_FOUND = Row(
        Kind.MISSING, "There is no payment {id}.", "List them with `anchorhold payment list`."
    )
    NOTICE_NOT_FOUND = Row(
        Kind.MISSING, "There is no notice {id}.", "List them with `anchorhold notice list`."
    )
    EVENT_NOT_FOUND = Row(
        Kind.MISSING, "There is no event {id}.", "List them with `anchorhold event list`."
    )
    HOLD_NOT_FOUND = Row(
        Kind.MISSING,
        "Invoice {invoice} has no hold.",
        "List the holds there are with `anchorhold hold list`.",
    )
    RULE_NOT_FOUND = Row(
        Kind.MISSING, "There is no rule {id}.", "Print them all with `anchorhold rules`."
    )

    # The input cannot be read as what it should be.
    ID_MALFORMED = Row(
        Kind.INPUT,
        "'{text}' is not an id of this kind, which looks like {example}.",
        "Copy the id from a list or a page.",
    )
    AMOUNT_MALFORMED = Row(
        Kind.INPUT,
        "'{text}' is not an amount in {currency}: {reason}.",
        "Write it in plain digits, for example {example}.",
    )
    AMOUNT_TOO_SMALL = Row(
        Kind.INPUT,
        "{amount} is less than the {minimum} that Stripe charges at the least.",
        "Collect it together with a later invoice, or write it off.",
    )
    AMOUNT_TOO_LARGE = Row(
        Kind.INPUT,
        "{amount} is more than the {maximum} that Stripe charges at the most.",
        "Split it into several invoices.",
    )
    CURRENCY_UNKNOWN = Row(
        Kind.INPUT,
        "'{currency}' is not a currency that Stripe charges.",
        "Use a three-letter code such as usd, eur or jpy.",
    )
    CURRENCY_MISMATCH = Row(
        Kind.INPUT,
        "{left} and {right} cannot be compared: they are not in one currency.",
        "Use amounts of one currency.",
    )
    ACCOUNT_AMBIGUOUS = Row(
        Kind.INPUT,
        "There are several accounts: {names}.",
        "Choose one with --account.",
    )
    RESOLUTION_MISSING = Row(
        Kind.INPUT,
        "Notice {notice} can be resolved only with words that say how.",
        "Give them with --resolution, or give the money back with --refund.",
    )
    REASON_MISSING = Row(
        Kind.INPUT,
        "To {act}, it has to be said why or how.",
        "Give --reason or --reference with some words; they are kept in the story.",
    )
    CONFIRMATION_MISSING = Row(
        Kind.INPUT,
        "Nobody can be asked whether to {act}, because this is no terminal.",
        "Run it again with --yes, or with --dry-run to see what would happen.",
    )
    FAULT_RULE_INVALID = Row(
        Kind.INPUT,
        "'{text}' is not a fault rule: {reason}.",
        "Write kind, when and endpoint: 'dropped_after 2% POST /v1/payment_intents*'.",
    )
    IMPORT_FILE_UNREADABLE = Row(
        Kind.INPUT,
        "The file {path} cannot be read: {reason}.",
        "Give a UTF-8 CSV file; nothing was imported.",
    )
    IMPORT_COLUMNS_MISSING = Row(
        Kind.INPUT,
        "The file {path} has no column {columns}.",
        "Name the columns in its first line; nothing was imported.",
    )
    IMPORT_COLUMN_UNKNOWN = Row(
        Kind.INPUT,
        "The file {path} has a column {column} that nobody reads; {suggestion}.",
        "Correct its name or take it out; nothing was imported.",
    )
    IMPORT_ROWS_INVALID = Row(
        Kind.INPUT,
        "Of the {rows} rows of {path}, {bad} cannot be imported.",
        "Correct them, or leave them out with --skip-bad; nothing was imported.",
    )
    IMPORT_ROW_INVALID = Row(
        Kind.INPUT,
        "Line {line}, column {column}: {reason}.",
        "Correct the line, or leave bad lines out with --skip-bad; nothing was imported.",
    )

    # Stripe did not answer, or refused.
    PROVIDER_UNAVAILABLE = Row(
        Kind.PROVIDER_SILENT,
        "Stripe could not be asked about {subject}: {reason}. {sent}.",
        "Try again in a few minutes.",
    )
    PROVIDER_REFUSED = Row(
        Kind.PROVIDER_NO,
        "Stripe refused a request about {subject}: {reason}. {sent}.",
        "Check the key's permissions with `anchorhold doctor`.",
    )
    STRIPE_UNREACHABLE = Row(
        Kind.PROVIDER_SILENT,
        "Stripe cannot be reached at {url}: {reason}. " + NOTHING_SENT + ".",
        "Check the network and ANCHORHOLD_STRIPE_API_BASE, then start again.",
    )
    STRIPE_KEY_MISSING = Row(
        Kind.SETUP,
        "There is no Stripe key.",
        "Set ANCHORHOLD_STRIPE_KEY, or run `anchorhold account connect`.",
    )
    STRIPE_KEY_REFUSED = Row(
        Kind.SETUP,
        "Stripe refused the key ({status}): {reason}.",
        "Put a working key into ANCHORHOLD_STRIPE_KEY.",
    )

    # The set-up does not allow a start.
    SETTINGS_INVALID = Row(
        Kind.SETUP,
        "The setting {name} is wrong: {reason}.",
        "Correct {name} and start again.",
    )
    SETTINGS_UNKNOWN = Row(
        Kind.SETUP,
        "There is no setting {name}; {suggestion}.",
        "Correct its name or unset it, then start again.",
    )
    TIMING_UNSAFE = Row(
        Kind.SETUP,
        "These times do not hold together: {relations}.",
        "Change one of the settings named, or unset them to use the defaults.",
    )
    SECRET_KEY_MISSING = Row(
        Kind.SETUP,
        "ANCHORHOLD_SECRET_KEY is not set, and a database of your own needs it.",
        "Set it to 32 random bytes in base64, the same in every process, and keep a copy.",
    )
    SECRET_KEY_UNREADABLE = Row(
        Kind.SETUP,
        "The secret key in {path} cannot be used: {reason}.",
        "Restore the file from a copy, or set ANCHORHOLD_SECRET_KEY.",
    )
    DATA_DIR_UNWRITABLE = Row(
        Kind.SETUP,
        "The data folder {path} cannot be written: {reason}.",
        "Set ANCHORHOLD_DATA_DIR to a folder of your own.",
    )
    EMBEDDED_DATABASE_FAILED = Row(
        Kind.SETUP,
        "The embedded PostgreSQL did not start: {reason}.",
        "{advice}.",
    )
    PORT_TAKEN = Row(
        Kind.SETUP,
        "Another program listens on {listen}.",
        "Stop it, or set ANCHORHOLD_LISTEN to a free port.",
    )
    TWIN_PORT_TAKEN = Row(
        Kind.SETUP,
        "Another program listens on {listen}, where the twin was to listen.",
        "Stop it, or choose another port with --port (--twin-port of `anchorhold up`).",
    )
    DATABASE_UNREACHABLE = Row(
        Kind.DATABASE,
        "The database cannot be reached: {reason}.",
        "Check that it runs and that ANCHORHOLD_DATABASE_URL points to it.",
    )
    DATABASE_PASSWORD_WRONG = Row(
        Kind.SETUP,
        "The database refused the user or the password.",
        "Correct them in ANCHORHOLD_DATABASE_URL.",
    )
    SCHEMA_OUTDATED = Row(
        Kind.SETUP,
        "The database has schema {found} and this version needs {needed}.",
        "Run `anchorhold db up`.",
    )
    SCHEMA_NEWER = Row(
        Kind.SETUP,
        "The database has schema {found}, which is newer than the {needed} of this version.",
        "Start the version of Anchorhold that the database was last used with, or a later one.",
    )
    INTERNAL_ERROR = Row(
        Kind.BUG,
        "Something unexpected went wrong; it is logged under {request}.",
        "Look the id up in the log and report what stands there.",
    )


CODES: Final = (*Code, *ApiCode, *WebhookCode, *BillingCode, *DunningCode, *PageCode)
"""Every refusal there is."""


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """The product says no, and why, and what to do.

    `facts` fill the templates; more of them may be given and are shown beside the sentence.
    A fact that a template needs and that is not given raises KeyError: a bug, and loud.
    Never put a secret into a fact.
    """

    def __init__(self, code: Coded, **facts: object) -> None:
        """Fill the sentence and the next step; both are one line whatever the facts hold."""
        shown = {name: _shown(value) for name, value in facts.items()}
        self.code = code
        self.facts: Mapping[str, object] = MappingProxyType(facts)
        self.sentence = code.value.sentence.format_map(shown)
        self.next_step = code.value.next_step.format_map(shown)
        super().__init__(f"{self.sentence} {self.next_step} ({code.code})")


def _shown(value: object) -> str:
    """A fact in one line: times in UTC to the second, a sentence without its last full stop."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return " ".join(str(value).split()).removesuffix(".")

"""The refusals about dunning, as `refusals.py` has them."""

from enum import unique

from anchorhold.domain.refusal_kinds import Coded, Kind, Row


@unique
class DunningCode(Coded):
    """What is refused about dunning policies and runs."""

    DUNNING_POLICY_INVALID = Row(
        Kind.INPUT,
        "This is no dunning policy: {reason}.",
        "See `anchorhold dunning policy create --help`.",
    )
    DUNNING_POLICY_EXISTS = Row(
        Kind.STATE,
        "There is already a dunning policy {name}, and a policy never changes.",
        "Create one under another name, and assign that.",
    )
    DUNNING_POLICY_NOT_FOUND = Row(
        Kind.MISSING,
        "There is no dunning policy {id}.",
        "List them with `anchorhold dunning policy list`.",
    )
    DUNNING_NOT_FOUND = Row(
        Kind.MISSING,
        "There is no dunning run {id}.",
        "List them with `anchorhold dunning list`; an invoice has one after its first decline.",
    )
    DUNNING_ENDED = Row(
        Kind.STATE,
        "The dunning of invoice {invoice} has ended: {outcome}.",
        "See how with `anchorhold dunning show {invoice}`.",
    )
    DUNNING_PAUSED = Row(
        Kind.STATE,
        "The dunning of invoice {invoice} is paused already: {reason}.",
        "Go on with `anchorhold dunning resume {invoice}`.",
    )
    CARD_DECLINED_TOO_OFTEN = Row(
        Kind.STATE,
        "The payment method of {invoice} was declined {times} times in 30 days; nothing was sent.",
        "Ask the customer for another one; the payment page takes it.",
    )
    DUNNING_NOT_PAUSED = Row(
        Kind.STATE,
        "The dunning of invoice {invoice} is not paused.",
        "See what comes next with `anchorhold dunning show {invoice}`.",
    )

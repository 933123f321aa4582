"""The refusals about links of the hosted page, as `refusals.py` has them."""

from enum import unique

from anchorhold.domain.refusal_kinds import Coded, Kind, Row


@unique
class PageCode(Coded):
    """What is refused about links and about what the page says of the business."""

    LINK_NOT_FOUND = Row(
        Kind.MISSING,
        "There is no link {id}.",
        "List an invoice's links with `anchorhold link list`.",
    )
    LINK_LASTS_WRONG = Row(
        Kind.INPUT,
        "A link lasts from one minute to {days} days.",
        "Ask for less; make another link when it has expired.",
    )
    PUBLISHABLE_KEY_INVALID = Row(
        Kind.INPUT,
        "That is no publishable key of Stripe's in {mode} mode: {reason}.",
        "Copy the one that begins with pk_{mode}_ from Stripe's dashboard, under API keys.",
    )

"""The refusals about prices and subscriptions, as `refusals.py` has them."""

from enum import unique

from anchorhold.domain.refusal_kinds import Coded, Kind, Row


@unique
class BillingCode(Coded):
    """What is refused about prices, subscriptions and their renewals."""

    INTERVAL_MALFORMED = Row(
        Kind.INPUT,
        "'{text}' is no interval to bill by.",
        "Write week, month or year, or a count of them such as '3 months', up to 120.",
    )
    ZONE_UNKNOWN = Row(
        Kind.INPUT,
        "There is no time zone '{name}'.",
        "Write it as the time zone database does, for example Europe/Berlin or UTC.",
    )
    START_UNLIKELY = Row(
        Kind.INPUT,
        "A subscription that starts at {start} is more likely a slip of the pen.",
        "Choose a start between the years 2000 and 2199.",
    )
    ANCHOR_DAY_INVALID = Row(
        Kind.INPUT,
        "{day} is no day of the month that periods of this price could begin on.",
        "Choose 1 to 31 for months and years; weeks begin on the weekday of the start.",
    )
    QUANTITY_INVALID = Row(
        Kind.INPUT,
        "'{text}' is no price with a quantity.",
        "Write the price's reference, or with a whole number from 1: seat:5.",
    )
    PRICE_EXISTS = Row(
        Kind.STATE,
        "There is already a price {reference}, and a price never changes.",
        "See it with `anchorhold price show {reference}`, or choose another reference.",
    )
    PRICE_NOT_FOUND = Row(
        Kind.MISSING, "There is no price {id}.", "List them with `anchorhold price list`."
    )
    PRICES_DIFFER = Row(
        Kind.INPUT,
        "The prices of one subscription share currency, interval and billing: {left} and {right} "
        "do not.",
        "Make two subscriptions of them.",
    )
    SUBSCRIPTION_EXISTS = Row(
        Kind.STATE,
        "There is already a subscription {reference}.",
        "See it with `anchorhold subscription show {reference}`.",
    )
    SUBSCRIPTION_NOT_FOUND = Row(
        Kind.MISSING,
        "There is no subscription {id}.",
        "List them with `anchorhold subscription list`.",
    )
    SUBSCRIPTION_NOT_SO = Row(
        Kind.STATE,
        "Subscription {id} is {status}, so there is nothing to {act}.",
        "See what happened to it with `anchorhold subscription show {id}`.",
    )
    RENEWAL_DUE = Row(
        Kind.STATE,
        "Subscription {id} has a period that is due since {due_at} and not billed yet.",
        "Bill it with `anchorhold subscription renew {id}`, then pause.",
    )
    SUBSCRIPTION_CHANGED = Row(
        Kind.STATE,
        "Subscription {id} changed in the meantime, so nothing was done.",
        "Look at it with `anchorhold subscription show {id}` and run the command again.",
    )
    END_IN_THE_PAST = Row(
        Kind.INPUT,
        "Subscription {id} cannot end at {ends_at}, which is over.",
        "Leave out the date to end it now, or choose a later one.",
    )

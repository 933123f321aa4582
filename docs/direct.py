"""The tables of direct mode, of a database that lost its tail, and of deliveries."""

from collections.abc import Iterable

from docs.markdown import codes, table

from anchorhold.domain import event_delivery, fencing, outcome, recovering, webhook


def direct_part() -> str:
    """What is different where one call creates and confirms, and what a fence proves."""
    answers = [
        (
            row.id,
            row.said.value,
            _conditions(row),
            codes(row.sweep) if row.sweep else "any",
            f"`{row.meaning}`",
            row.because,
        )
        for row in outcome.DIRECT
    ]
    fence = [
        (row.id, f"`{row.request}`", row.words, f"`{row.act}`", row.because)
        for row in fencing.FENCING
    ]
    return (
        "## What is different about a direct charge\n\n"
        "These rows are looked at first; then those above. An intent in the answer is followed;\n"
        "without one an unclear attempt is parked.\n\n"
        + table("id|answer|with|sweep mode|meaning|because", answers)
        + "\n## What the answers to a fence mean\n\n"
        "Two requests under the attempt's own key: a probe that can take no money, then, if the\n"
        "key was used, the charge's stored parameters again.\n\n"
        + table("id|request|answer|act|because", fence)
        + "\n"
    )


def _conditions(row: outcome.Row) -> str:
    given: Iterable[str] = (
        codes(row.intent, of=outcome.IntentStatus) if row.intent else "",
        f"HTTP {codes(row.http)}" if row.http else "",
        f"type {codes(row.types)}" if row.types else "",
        f"code {codes(row.codes)}" if row.codes else "",
    )
    return ", ".join(one for one in given if one)


def recover_part() -> str:
    """What is done about an intent of a database that may have lost its last commits."""
    rows = [
        (
            row.id,
            codes(row.intent, of=outcome.IntentStatus),
            codes(row.invoice, of=recovering.Bill),
            codes(row.row, of=recovering.Row),
            f"`{row.act}`",
            row.because,
        )
        for row in recovering.RECOVER
    ]
    return (
        "## What recovering does about an intent\n\n"
        "Before anything is claimed in a database whose last commits may be gone.\n\n"
        + table("id|intent|invoice|row|act|because", rows)
        + "\n"
    )


def delivery_parts() -> str:
    """What becomes of a delivery of Stripe's, and of one of ours."""
    stripes = [
        (row.id, f"`{row.verdict}`", row.status, "yes" if row.takes else "no", row.because)
        for row in event_delivery.DELIVERY
    ]
    ours = [(row.id, _said(row), f"`{row.act}`", row.because) for row in webhook.ANSWERS]
    return (
        "## What a delivery of Stripe's is answered\n\n"
        "Every delivery is kept; only some bring their event in.\n\n"
        + table("id|verdict|HTTP|brings its event|because", stripes)
        + "\n## What the answer to our own webhook means\n\n"
        + table("id|answer|act|because", ours)
        + "\n"
    )


def _said(row: webhook.Row) -> str:
    if isinstance(row.statuses, range):
        return f"HTTP {row.statuses.start} to {row.statuses.stop - 1}"
    return f"HTTP {codes(row.statuses)}" if row.statuses else codes(row.outcomes)

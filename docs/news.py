"""The parts of the rules page that tell of news: events, the ladder, refunds, disputes, notices."""

from docs.markdown import codes, table

from anchorhold.domain import disputes, ladder, news, notices, refund


def news_parts() -> str:
    """Every table that news goes by."""
    return "".join((_news(), _ladder(), _refund(), _disputes(), _notices()))


def _news() -> str:
    rows = [(row.id, codes(row.types), f"`{row.act}`", row.because) for row in news.NEWS]
    return (
        "## What an event of Stripe's may do\n\n"
        "A success is applied from the event; everything else is a hint to retrieve. N0 is an "
        "event\nthat is tried again later.\n\n" + table("id|event|does|because", rows) + "\n"
    )


def _ladder() -> str:
    rows = [
        (row.id, f"{row.after_s:g} s", f"{row.wait_s:g} s", row.because) for row in ladder.LADDER
    ]
    return (
        "## How long until the next look\n\n"
        "At a followed or watched PaymentIntent, at an event that waits, and at a refund whose "
        "answer\nis not known.\n\n" + table("id|from this age on|wait|because", rows) + "\n"
    )


def _refund() -> str:
    rows = [(row.id, _answer(row), f"`{row.after}`", row.because) for row in refund.REFUND]
    return "## What the answer to a refund means\n\n" + table("id|answer|then|because", rows) + "\n"


def _answer(row: refund.Row) -> str:
    words = {"Shown": "Stripe shows it", "NothingSent": "nothing was sent",
             "object": "no readable answer after the first byte"}  # fmt: skip
    conditions = [
        f"HTTP {codes(row.http)}" if row.http else "",
        f"type {codes(row.types)}" if row.types else "",
        f"code {codes(row.codes)}" if row.codes else "",
    ]
    said = ", ".join(filter(None, conditions)) or "anything else"
    return words.get(row.kind.__name__) or f"Stripe refuses: {said}"


def _disputes() -> str:
    rows = [
        (
            row.id,
            codes(row.statuses),
            f"`{row.means}`",
            f"`{row.notice}`" if row.notice else "",
            row.because,
        )
        for row in disputes.DISPUTES
    ]
    return (
        "## What a dispute's status means\n\n"
        + table("id|status at Stripe|the payment says|notice|because", rows)
        + "\n"
    )


def _notices() -> str:
    rows = [
        (
            f"`{row.code}`",
            f"`{row.weight}`",
            row.happened,
            row.to_do,
            codes(row.ends, of=notices.Ends),
            row.because,
        )
        for row in notices.NOTICES
    ]
    return (
        "## What needs a person\n\n"
        + table("notice|weight|what happened|what to do|ended by|why not by itself", rows)
        + "\n"
    )

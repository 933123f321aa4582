"""The part of the rules that tells how an invoice is closed."""

from docs.markdown import table

from anchorhold.domain import closing


def closing_part() -> str:
    """What the answer to a cancel means, and what final actions do."""
    rows = [
        (row.id, closing.conditions(row), f"`{row.step}`", row.because) for row in closing.CLOSING
    ]
    finishes = [
        (row.id, f"`{row.action}`", "ends" if row.closes else "stays open", row.because)
        for row in closing.FINAL_ACTIONS
    ]
    return (
        "## What the answer to a cancel means\n\n"
        "For whoever closes an invoice or changes what is due: see\n"
        "[ending an invoice](../concepts/ending-an-invoice.md).\n\n"
        + table("id|answer|step|because", rows)
        + "\n## What a final action does to its invoice\n\n"
        + table("id|final action|the invoice|because", finishes)
        + "\n"
    )

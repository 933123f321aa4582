"""The part of the rules that tells what a dunning run does next."""

from docs.markdown import table

from anchorhold.domain import dunning


def dunning_part() -> str:
    """Which step comes next, and when."""
    rows = [
        (row.id, dunning.conditions(row), f"`{row.step}`", row.when.value, row.because)
        for row in dunning.NEXT_STEP
    ]
    return (
        "## What a dunning run does next\n\n"
        "After each decline, and whenever it is due: see [dunning](../concepts/dunning.md).\n\n"
        + table("id|when|step|it comes|because", rows)
        + "\n"
    )

"""The page about crashes names every point at which a charge can die, as the tests record them."""

import re
from pathlib import Path

from tests.engine.flows import ALL
from tests.engine.test_boundaries import boundaries

PAGE = Path(__file__).resolve().parents[2] / "docs" / "concepts" / "crashes.md"
PARTS = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)


def points() -> set[str]:
    """Each statement and each request of every flow; a private read stands for its public one."""
    names = {name.split()[1] for flow in ALL for name, _ in boundaries(flow)}
    return {re.sub(r"\._\w+$", ".facts", name) for name in names}


def told() -> set[str]:
    """The points in the first column of the page's tables."""
    cells = PARTS.findall(PAGE.read_text("utf-8"))
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_page_names_every_point_and_no_other() -> None:
    assert told() == points()

"""The quickstart says of the file of invoices what the import reads."""

import re
from pathlib import Path

from anchorhold.engine.invoice_file import OPTIONAL, REQUIRED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "quickstart.md"


def test_the_page_names_every_column_and_which_may_be_empty() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    told = dict(rows)
    assert told.keys() == {*REQUIRED, *OPTIONAL}
    assert {name for name, text in rows if "may be empty" in text} == set(OPTIONAL)

"""The page about webhooks names every type of message."""

import re

from anchorhold.domain.webhook import TYPES
from tests.docs.console import ROOT


def test_the_page_names_every_type_of_message_and_no_other() -> None:
    page = (ROOT / "docs" / "concepts" / "webhooks.md").read_text("utf-8")
    table = page.partition("| type | what happened |")[2].partition("\n\n")[0]
    names = [name for line in table.splitlines() for name in re.findall(r"`(\w+\.\w+)`", line)]
    assert sorted(names) == sorted(row.name for row in TYPES)

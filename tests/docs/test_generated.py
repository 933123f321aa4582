"""The pages that are made from the code are as the code says."""

from pathlib import Path

import pytest
from docs.markdown import table
from docs.source import NOUNS, docstrings_of, files_of, is_read

from docs import pages
from tests.test_rows_have_tests import tables


@pytest.mark.parametrize("name", pages.PAGES)
def test_no_page_is_stale(name: str) -> None:
    path = pages.ROOT / name
    assert path.read_text("utf-8") == pages.PAGES[name](), "run: make docs"


def test_every_made_page_says_that_it_is_made() -> None:
    for name, make in pages.PAGES.items():
        assert pages.MADE in make() or name == "CONTRIBUTING.md"


def test_every_noun_has_a_file_in_the_domain() -> None:
    for noun in NOUNS.keys() - {"account", "customer", "notice", "journal"}:
        assert files_of(pages.PACKAGE, noun, "domain"), noun


def test_a_table_has_one_line_for_each_row_whatever_its_cells_hold() -> None:
    assert table("a|b", [("x|y", "one\ntwo")]) == ("| a | b |\n|---|---|\n| x\\|y | one two |\n")


def test_docstrings_of_fields_and_members_are_read(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        'class C:\n    a: int\n    """One\n    two."""\n    b = 1\n    c = 2\n    """C."""\n'
    )
    assert docstrings_of(path, "C") == {"a": "One two.", "c": "C."}


def test_a_time_that_nothing_reads_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wait(timing.hold_seconds)\n")
    assert is_read(tmp_path, "hold_seconds")
    assert not is_read(tmp_path, "fence_max_seconds")


def test_every_table_of_rules_stands_on_the_page_of_the_rules() -> None:
    page = (pages.ROOT / "docs" / "reference" / "rules.md").read_text("utf-8")
    for name, ids in tables():
        missing = [row for row in ids if f"\n| {row} |" not in page]
        assert not missing, name

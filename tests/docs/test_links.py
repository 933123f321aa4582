"""Every link from one of our pages to another leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them, and of its explicit names."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    return made | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def broken(page: Path) -> list[str]:
    """The links of the page that lead nowhere."""
    found = []
    for path, anchor in LINK.findall(page.read_text("utf-8")):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            found.append(path)
        elif anchor and anchor not in anchors(target.read_text("utf-8")):
            found.append(f"{path}#{anchor}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert not broken(page)


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A head `x`\n[a](none.md) [b](page.md#a-head-x) [c](#no) [d](https://e.f)\n")
    assert broken(page) == ["none.md", "#no"]

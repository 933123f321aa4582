"""The decisions are complete: each page has its parts, and the index and each dependency too."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "decisions"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
PARTS = ["## Context", "## Decision", "## Consequences", "## Rejected"]
STATUS = re.compile(
    r"Status: (proposed|accepted|replaced by \[\d{4}\]\(\S+\))\. Date: \d{4}-\d\d-\d\d\."
)


def named_in(text: str, dependency: str) -> bool:
    """The dependency stands in the text in backticks, with or without its extras."""
    return re.search(rf"`{re.escape(dependency)}[`\[]", text) is not None


def dependencies() -> list[str]:
    """The name of everything that pyproject.toml asks for: to build, to run and to develop."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    asked = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(name for group in project["dependency-groups"].values() for name in group),
    ]
    return [re.split(r"[\[<>=~! ;]", requirement)[0] for requirement in asked]


def test_there_are_dependencies_to_look_for() -> None:
    assert {"psycopg", "stripe", "ruff", "uv_build"} <= set(dependencies())


@pytest.mark.parametrize("dependency", dependencies())
def test_every_dependency_has_its_reason_on_a_page(dependency: str) -> None:
    pages = [page.name for page in PAGES if named_in(page.read_text("utf-8"), dependency)]
    assert pages, f"no page of docs/decisions names `{dependency}`; write down what it is for"


def test_a_name_inside_another_name_is_not_taken_for_it() -> None:
    assert named_in("uses `psycopg[binary,pool]` and `rich`", "psycopg")
    assert not named_in("uses `psycopg-pool`, enriched, rich", "psycopg")
    assert not named_in("uses `psycopg-pool`, enriched, rich", "rich")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_has_its_number_its_status_and_its_four_parts(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    assert lines[0].startswith(f"# {page.stem[:4]}. ")
    assert STATUS.fullmatch(lines[2])
    assert [line for line in lines if line.startswith("## ")] == PARTS


def test_the_template_has_the_same_parts() -> None:
    lines = (FOLDER / "template.md").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("## ")] == PARTS


def test_no_two_pages_share_a_number() -> None:
    numbers = [page.stem[:4] for page in PAGES]
    assert numbers == sorted(set(numbers))


def test_the_index_lists_every_page_with_its_title() -> None:
    index = (FOLDER / "index.md").read_text("utf-8")
    for page in PAGES:
        number, _, title = page.read_text("utf-8").splitlines()[0][2:].partition(". ")
        assert f"| [{number}]({page.name}) | {title} |" in index
    assert index.count("| [") == len(PAGES)

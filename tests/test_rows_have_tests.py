"""Each row of each table of rules has a test that is named after it, wherever the row is new.

A test says its row by its name: `test_s6b_…`, or `test_a16_a18_…` for two. Cells of the table of
holds are run one by one, named `G6 void, stale`, by `tests/engine/test_access.py`.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from anchorhold import domain
from anchorhold.domain.access import ACCESS
from anchorhold.domain.hold import HoldState
from anchorhold.domain.outcome import OUTCOME
from anchorhold.domain.sweep import SWEEP
from tests.engine.test_access import CELLS

TESTS = Path(__file__).parent
IN_ONE_TEST = {
    "timing.RELATIONS": "tests/domain/test_timing.py: each relation with a case that breaks it",
    "ladder.LADDER": "tests/domain/test_ladder.py: each rung by its age",
    "webhook.ANSWERS": "tests/domain/test_webhook.py: each row by its answer",
    "event_delivery.DELIVERY": "tests/domain/test_event_delivery.py: each row by its answer",
}
"""Tables whose rows are the parameters of one test."""


def tables() -> Iterator[tuple[str, list[str]]]:
    """Every table of rules in `domain/`: its name, and the ids of its rows."""
    for found in pkgutil.iter_modules(domain.__path__):
        module = importlib.import_module(f"anchorhold.domain.{found.name}")
        for name, value in vars(module).items():
            if name.isupper() and not name.startswith("_") and isinstance(value, tuple):
                ids = [str(row.id) for row in value if hasattr(row, "id")]
                if ids and _is_of(module.__name__, value):
                    yield f"{found.name}.{name}", ids


def _is_of(module: str, rows: tuple[object, ...]) -> bool:
    return type(rows[0]).__module__ == module


def named(folder: Path) -> set[str]:
    """The rows that tests below this folder are named after."""
    names = re.compile(r"^(?:async )?def test_((?:[a-z]{1,2}[0-9]+[a-z]?_)+)", re.MULTILINE)
    texts = (path.read_text("utf-8") for path in sorted(folder.rglob("test_*.py")))
    found = (row for text in texts for prefix in names.findall(text) for row in prefix.split("_"))
    return {row.upper() for row in found if row}


TABLES = dict(tables())


def test_the_tables_are_found() -> None:
    assert {"sweep.SWEEP", "outcome.OUTCOME", "outcome.DIRECT", "access.ACCESS"} <= set(TABLES)
    assert set(IN_ONE_TEST) <= set(TABLES)
    assert all((TESTS.parent / why.partition(":")[0]).is_file() for why in IN_ONE_TEST.values())


@pytest.mark.parametrize("table", sorted(set(TABLES) - set(IN_ONE_TEST)))
def test_every_row_has_a_test_named_after_it(table: str) -> None:
    tested = named(TESTS)
    assert not [row for row in TABLES[table] if row.upper() not in tested]


@pytest.mark.parametrize("rows", [SWEEP, OUTCOME], ids=["sweep", "outcome"])
def test_a_row_about_money_is_also_driven_through_the_engine(rows: tuple[object, ...]) -> None:
    tested = named(TESTS / "engine")
    ids = {str(getattr(row, "id", "")) for row in rows}
    assert not [row for row in sorted(ids) if row.upper() not in tested]


def test_every_cell_of_the_table_of_holds_is_driven_and_named() -> None:
    driven = {str(cell.id).split(" ")[0] for cell in CELLS}
    assert driven == {row.id for row in ACCESS}
    assert len(CELLS) == len(ACCESS) * len(HoldState)


def test_names_of_several_rows_count_for_each() -> None:
    assert {"A16", "A18"} <= named(TESTS / "engine")

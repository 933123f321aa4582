"""The pages of the proof name each residual, hole and test of the ADR, with tests of ours."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROOF = ROOT / "docs" / "proof"
RESIDUALS = (PROOF / "residuals.md").read_text("utf-8")
ADR = (PROOF / "adr-tests.md").read_text("utf-8")
PAGES = sorted(PROOF.glob("*.md"))
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
BY_THE_ADR = (
    "TestChargeHoldTiming",
    "TestParked_WrittenOff_StripeRefusedForGood_KeptUntilStripeAnswers",
    "stale_hold_integration_test.go",
    "internal/dunning/stale_hold_integration_test.go",
    "dunning_cancel_voids_prebill_integration_test.go",
    "stale_hold_store_integration_test.go",
    "stripe_client_list_test.go",
    "charge_nothing_sent_test.go",
)
IDS = [f"{kind}{number}" for kind in "RH" for number in range(1, 19)]


def line_of(id_: str) -> str:
    (line,) = re.findall(rf"^\| {id_} \|.*$", RESIDUALS, re.MULTILINE)
    return line


@pytest.mark.parametrize("id_", IDS)
def test_each_residual_and_each_hole_has_its_line_and_a_test(id_: str) -> None:
    _, _, what, prepared, direct, how, shown, _ = (cell.strip() for cell in line_of(id_).split("|"))
    assert what
    assert how
    for verdict in (prepared, direct):
        assert verdict.split()[0] in {"closed", "narrowed", "stated"}
    assert NAMED.search(shown)


@pytest.mark.parametrize("name", BY_THE_ADR)
def test_each_test_that_the_adr_names_has_ours_beside_it(name: str) -> None:
    lines = re.findall(rf"^\| `[^`]*{re.escape(name)}` \|.*$", ADR, re.MULTILINE)
    assert lines
    assert all(NAMED.search(line) for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_test_that_a_page_names_exists(page: Path) -> None:
    for path, name in NAMED.findall(page.read_text("utf-8")):
        text = (ROOT / path).read_text("utf-8")
        assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), f"{path}::{name}"


def test_a_direct_account_is_told_of_what_it_states() -> None:
    stated = {id_ for id_ in IDS if "stated" in line_of(id_).split("|")[4]}
    assert {"R10", "R15", "R18", "H1"} <= stated
    index = (PROOF / "index.md").read_text("utf-8")
    assert all(id_ in index for id_ in ("R4", "R9", "R10", "R15", "R18"))

"""Alerts, metrics and runbooks fit each other: nothing is watched that is not shown."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from anchorhold.domain.answer import Shown
from anchorhold.domain.outcome import Meaning
from anchorhold.domain.timing import Timing
from anchorhold.engine.charge import Charged
from anchorhold.engine.sweep import Stopped, Swept
from anchorhold.metrics import Exposition, Meters
from anchorhold.providers import Wires
from anchorhold.store.metrics import NO_HOLDS, Connections, Notices, Readings
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport

OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "operations"
ROOT = OPERATIONS.parents[1]
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((OPERATIONS / "alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
PAGES = sorted((OPERATIONS / "runbooks").glob("*.md"))
PARTS = ["What it means", "Is money at risk", "What to look at", "What to do", "When it ends"]
SELECTOR = re.compile(r"(anchorhold_\w+)(?:\{(\w+)=\"(\w+)\"\})?")
TABLE = re.compile(r"^\| `(anchorhold_\w+)` \| (.*?) \|", re.MULTILINE)


def samples() -> list[tuple[str, dict[str, str]]]:
    """Each sample that a process may show, by name and labels."""
    meters = Meters()
    meters.charged(Charged("A1", Meaning.SETTLE, "paid"))
    meters.swept(Swept(1, {"S1": 1}, Stopped.BUDGET))
    meters.called("get /v1/account", Shown("acct_1"), 0.1)
    wires = Wires(Transport(), Breaker(), Limiter(), "https://api.stripe.com")
    db: Any = object()
    exposition = Exposition(db, Timing(), meters, wires)
    exposition.show(
        Readings(NO_HOLDS, 0, 0, (Notices("payment.duplicate_charge", 1),), Connections(1, 0, 0), 0)
    )
    return [
        (sample.name, sample.labels)
        for family in meters.registry.collect()
        for sample in family.samples
        if sample.name.startswith("anchorhold_") and not sample.name.endswith("_created")
    ]


SAMPLES = samples()


def name(rule: dict[str, Any]) -> str:
    return str(rule["alert"])


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_an_alert_reads_what_is_shown(rule: dict[str, Any]) -> None:
    selectors = SELECTOR.findall(rule["expr"])
    assert selectors
    for metric, label, value in selectors:
        shown = [labels for shown, labels in SAMPLES if shown == metric]
        assert shown, metric
        assert not label or value in {labels[label] for labels in shown}


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_an_alert_is_whole(rule: dict[str, Any]) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Anchorhold[A-Z]\w+", rule["alert"])
    assert re.fullmatch(r"\d+[mh]", rule.get("for", "1m"))
    assert rule["labels"] in ({"severity": "page"}, {"severity": "ticket"})
    assert rule["annotations"].keys() == {"summary", "runbook"}
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["expr"].count("(") == rule["expr"].count(")")


def test_each_alert_has_a_page_of_its_own_and_each_page_an_alert() -> None:
    told = {rule["annotations"]["runbook"]: rule["alert"] for rule in RULES}
    found = {
        str(page.relative_to(ROOT)): page.read_text("utf-8").splitlines()[0].removeprefix("# ")
        for page in PAGES
    }
    assert told == found
    assert len(RULES) == len(PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_answers_the_five_questions_and_names_a_command(page: Path) -> None:
    text = page.read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == PARTS
    assert "`anchorhold " in text
    assert re.search(r"^(No|Yes|Not|It may)\b", text.partition("at risk")[2].strip())


def test_the_page_lists_every_metric_with_its_labels_and_no_other() -> None:
    told = {
        metric: set(re.findall(r"`(\w+)`(?=[:,]| \||$)", labels.partition(":")[0]))
        | set(re.findall(r", `(\w+)`: ", labels))
        for metric, labels in TABLE.findall((OPERATIONS / "metrics.md").read_text("utf-8"))
    }
    shown: dict[str, set[str]] = {}
    for metric, labels in SAMPLES:
        base = re.sub(r"(call_seconds)_(bucket|sum|count)$", r"\1", metric)
        shown.setdefault(base, set()).update(labels.keys() - {"le"})
    assert told == shown


def test_the_page_lists_every_alert_with_its_severity() -> None:
    text = (OPERATIONS / "metrics.md").read_text("utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\((runbooks/\S+)\) \| (\w+) \|$", text, re.MULTILINE)
    assert rows == [
        (
            rule["alert"],
            rule["annotations"]["runbook"].removeprefix("docs/operations/"),
            rule["labels"]["severity"],
        )
        for rule in RULES
    ]


def test_the_bounds_in_the_rules_are_those_of_the_settings() -> None:
    tick = next(rule for rule in RULES if rule["alert"] == "AnchorholdTickMissing")
    assert f"> {2 * Timing().tick_seconds:.0f}" in tick["expr"]

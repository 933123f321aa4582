"""The demo itself, small: real processes, real SIGKILL, and the words that scripts read."""

import json
import subprocess
import sys

import pytest

FIGURES = {
    "invoices",
    "paid",
    "declined",
    "needs_customer",
    "open",
    "double_charges",
    "lost_payments",
    "wrong_amounts",
    "holds_left",
    "kills",
    "unclear_answers",
    "resolved_by",
    "seconds",
    "naive",
}


@pytest.fixture(scope="module")
def figures() -> dict[str, object]:
    """One small run."""
    command = ["demo", "--seed", "5", "--invoices", "60", "--kills", "3", "--output", "json"]
    ran = subprocess.run(
        [sys.executable, "-m", "anchorhold", *command], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    shown: dict[str, object] = json.loads(ran.stdout)
    return shown


@pytest.mark.xdist_group("demo")
def test_workers_die_and_every_payment_is_recorded_once(figures: dict[str, object]) -> None:
    findings = ("double_charges", "lost_payments", "wrong_amounts", "holds_left", "unbacked")
    assert {name: figures[name] for name in findings} == dict.fromkeys(findings, 0)
    assert figures["kills"] == 3
    assert figures["paid"]


@pytest.mark.xdist_group("demo")
def test_each_invoice_is_counted_once(figures: dict[str, object]) -> None:
    endings = [figures[name] for name in ("paid", "declined", "needs_customer", "open")]
    assert sum(int(str(count)) for count in endings) == figures["invoices"] == 60


@pytest.mark.xdist_group("demo")
def test_scripts_find_every_figure(figures: dict[str, object]) -> None:
    assert set(figures) >= FIGURES
    naive = figures["naive"]
    assert isinstance(naive, dict)
    assert {"double_charges", "lost_payments"} <= set(naive)

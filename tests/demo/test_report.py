"""The demo's last words say what was measured, and no more."""

import io

from rich.console import Console

from anchorhold.demo.audit import Findings
from anchorhold.demo.ours import Outcome
from anchorhold.demo.plain import PlainOutcome
from anchorhold.demo.report import tell


def said(kills: int, lost: int = 0) -> str:
    """What a run came to, on one line."""
    findings = Findings(10, 4, 4, 2, 0, 0, lost, 0, 0)
    outcome = Outcome(findings, kills, 0, {}, 9.0, {})
    out = io.StringIO()
    tell(Console(file=out, width=200), outcome, PlainOutcome(0, 0, kills, 3.0))
    return " ".join(out.getvalue().split())


def test_a_worker_that_was_killed_need_not_have_been_charging() -> None:
    assert "mid-charge" not in said(kills=1)
    assert (
        "Proved: each of the 4 payments at Stripe is recorded once, none taken twice, none lost; "
        "workers killed on the way: 1." in said(kills=1)
    )


def test_a_loss_proves_nothing() -> None:
    assert "Not proved: look at" in said(kills=1, lost=1)
    assert " Proved: " not in said(kills=1, lost=1)

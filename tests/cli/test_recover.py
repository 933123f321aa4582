"""`anchorhold recover`, and what else says that commits may be lost."""

from pathlib import Path

from anchorhold.domain.refusals import Exit
from tests.cli.desk import Desk

ELSEWHERE = "UPDATE anchorhold.connection SET lineage = 'another/00000001/1'"
LOSE_INTENT = """
    WITH lost AS (DELETE FROM anchorhold.intent WHERE state = 'live' RETURNING stripe_intent_id)
    UPDATE anchorhold.invoice i SET intent_id = NULL FROM lost
     WHERE i.intent_id = lost.stripe_intent_id
"""
LIVE = "SELECT count(*) FROM anchorhold.intent WHERE state = 'live'"
LOSE_ALL = """
    DELETE FROM anchorhold.payment; DELETE FROM anchorhold.attempt;
    DELETE FROM anchorhold.journal; DELETE FROM anchorhold.intent; DELETE FROM anchorhold.invoice
"""


def test_a_database_that_is_whole_has_nothing_to_recover(desk: Desk) -> None:
    ran = desk.run("recover", "-o", "table")
    assert ran.code == 0
    assert "nothing to recover" in ran.out


def charged(desk: Desk, folder: Path) -> None:
    """Two invoices are paid, the third has its intent and is not due."""
    desk.take_in(folder)
    assert desk.run("worker", "--once").code == 0


def test_what_is_lost_is_put_back_and_said(desk: Desk, tmp_path: Path) -> None:
    charged(desk, tmp_path)
    desk.sql(LOSE_INTENT)
    desk.sql(ELSEWHERE)
    ran = desk.run("recover", "-o", "json")
    (data,) = ran.json()["data"]
    assert (ran.code, data["whole"], data["stopped"]) == (0, True, None)
    assert data["by_rule"] == {"V2": 4, "V11": 1}
    assert desk.sql(LIVE) == [(1,)]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(desk: Desk, tmp_path: Path) -> None:
    charged(desk, tmp_path)
    desk.sql(LOSE_INTENT)
    ran = desk.run("recover", "--dry-run", "-o", "table")
    assert ran.code == 0
    assert "1 to put back as their invoices' own" in ran.out
    assert desk.sql(LIVE) == [(0,)]


def test_money_for_a_lost_invoice_is_a_finding_with_a_notice(desk: Desk, tmp_path: Path) -> None:
    charged(desk, tmp_path)
    desk.sql(LOSE_ALL)
    ran = desk.run("recover", "--since", "2020-01-01", "-o", "table")
    assert ran.code == Exit.FINDINGS
    assert "of invoices that are not here" in ran.out
    notices = desk.run("notice", "list").ndjson()
    assert [notice["code"] for notice in notices] == ["payment.invoice_lost"] * 2


def test_a_doctor_says_that_nothing_is_charged(desk: Desk) -> None:
    assert finding(desk)["level"] == "ok"
    desk.sql(ELSEWHERE)
    found = finding(desk)
    assert (found["level"], found["next_step"]) == ("refused", "Run `anchorhold recover`.")


def finding(desk: Desk) -> dict[str, str]:
    """What `doctor` says about recovery."""
    data = desk.run("doctor", "-o", "json").json()
    (found,) = [one for one in data["findings"] if one["id"] == "recovery"]
    return found


def test_a_collect_is_refused_until_it_is_done(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    desk.sql(ELSEWHERE)
    ran = desk.run("invoice", "collect", desk.id_of("R-1"), "--yes")
    assert ran.code == Exit.REFUSED
    assert "[recovery_due]" in ran.err


def test_a_mode_that_cannot_ask_stripe_is_left_for_later(desk: Desk) -> None:
    desk.sql("UPDATE anchorhold.connection SET secret_key = 'torn'")
    desk.sql(ELSEWHERE)
    ran = desk.run("recover", "-o", "table")
    assert ran.code == Exit.UNAVAILABLE
    assert "nothing is charged until it is done" in ran.out

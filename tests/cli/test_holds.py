"""Holds: three lanes, an explanation that changes nothing, and a check that acts."""

from pathlib import Path

import pytest

from anchorhold.cli import asking
from anchorhold.twin.server import TwinServer
from tests.cli.desk import Desk


@pytest.fixture
def shop(desk: Desk, tmp_path: Path) -> Desk:
    """Three invoices are there."""
    desk.take_in(tmp_path)
    return desk


def test_a_live_hold_says_who_charges_and_until_when(shop: Desk) -> None:
    shop.claim("R-1")
    lines = shop.table("hold", "list")
    assert " live " in lines[1]
    assert "in 4 min" in lines[1]
    assert lines[-1] == "1 live, 0 being confirmed with Stripe, 0 followed"
    ran = shop.run("hold", "check", "R-1")
    assert ran.code == 3
    assert "[hold_live]" in ran.err
    explained = shop.table("hold", "explain", "R-1")
    assert "Rule        none yet: its owner is at work and saves the answer" in explained


def test_a_stale_hold_is_being_confirmed_and_next_checked_when_the_facts_say(shop: Desk) -> None:
    invoice = shop.claim("R-1", ended="10 minutes")
    (row,) = shop.run("hold", "list").ndjson()
    assert (row["object"], row["state"], row["actor"]) == ("hold", "stale", "worker:host:1")
    shop.sql("UPDATE anchorhold.invoice SET provider_synced_at = clock_timestamp()")
    lines = shop.table("hold", "list")
    assert " confirming " in lines[1]
    assert " in 29 min " in lines[1]
    assert lines[-1] == "0 live, 1 being confirmed with Stripe, 0 followed"
    assert shop.run("hold", "list", "-o", "ids").lines == [invoice]


def test_a_hold_that_should_have_ended_long_ago_is_marked(shop: Desk) -> None:
    """H16: a hold that no check can end has to be seen, not only a park."""
    shop.claim("R-1", ended="119 minutes")
    assert " overdue" not in shop.table("hold", "list")[1]
    shop.sql("UPDATE anchorhold.invoice SET hold_until = hold_until - interval '2 minutes'"
             " WHERE hold_until IS NOT NULL")  # fmt: skip
    assert " confirming, overdue " in shop.table("hold", "list")[1]
    (row,) = shop.run("hold", "list").ndjson()
    assert row["overdue"] == "hold"
    ran = shop.run("doctor", "-o", "json")
    (found,) = [one for one in ran.json()["findings"] if one["id"] == "holds"]
    assert (ran.code, found["level"]) == (6, "warning")
    assert found["sentence"] == "1 holds ended over ANCHORHOLD_HOLD_ALARM_SECONDS ago"


def test_an_explanation_names_the_rule_and_changes_nothing(shop: Desk) -> None:
    invoice = shop.claim("R-1", ended="42 minutes")
    before = shop.sql("SELECT to_jsonb(i), (SELECT count(*) FROM anchorhold.journal)"
                      " FROM anchorhold.invoice i ORDER BY id")  # fmt: skip
    lines = shop.table("hold", "explain", "R-1")
    assert lines[0] == f"{invoice}  149.00 EUR  open"
    assert lines[1].startswith("Hold        ended 42 min ago, claimed by worker:host:1 (collect)")
    assert lines[2].startswith("Stripe      pi_")
    assert lines[2].endswith("requires_payment_method  149.00 EUR")
    assert lines[3:] == [
        "Rule S8     the own intent is payable  →  clear; the counter moves",
        "Because     a late charge can only be this same intent, which succeeds once",
        "Next check  at the next tick",
        f"Do it now   anchorhold hold check {invoice}",
    ]
    data = shop.run("hold", "explain", "R-1", "-o", "json").json()
    assert data["rules"][0]["rule"] == "S8"
    assert data["found"] == ["the own intent is payable"]
    after = shop.sql("SELECT to_jsonb(i), (SELECT count(*) FROM anchorhold.journal)"
                     " FROM anchorhold.invoice i ORDER BY id")  # fmt: skip
    assert after == before


def test_a_check_acts_by_the_rule_and_says_what_happens_next(shop: Desk) -> None:
    invoice = shop.claim("R-1", ended="42 minutes")
    lines = shop.table("hold", "check", "R-1")
    assert lines == [
        "Rule S8     clear; the counter moves",
        "Because     a late charge can only be this same intent, which succeeds once",
        f"{invoice}  149.00 EUR  open",
        "Next        a worker charges it",
    ]
    assert shop.run("hold", "check", "R-1").code == 4


def test_a_check_that_stripe_does_not_answer_keeps_the_hold(shop: Desk) -> None:
    shop.claim("R-1", ended="42 minutes")
    shop.monkeypatch.setenv("ANCHORHOLD_STRIPE_API_BASE", "http://127.0.0.1:1")
    ran = shop.run("hold", "check", "R-1")
    assert ran.code == 5
    assert "[provider_unavailable]" in ran.err
    assert "Nothing was sent that could move money" in ran.err
    ((held,),) = shop.sql("SELECT hold_until IS NOT NULL FROM anchorhold.invoice"
                          " WHERE reference = 'R-1'")  # fmt: skip
    assert held


def test_an_invoice_without_a_hold_has_nothing_to_explain(shop: Desk) -> None:
    ran = shop.run("hold", "explain", "R-1")
    assert ran.code == 4
    assert "[hold_not_found]" in ran.err


def test_collecting_says_what_came_of_it(shop: Desk) -> None:
    ran = shop.run("invoice", "collect", "R-1", "--yes", "-o", "json")
    assert ran.code == 0
    data = ran.json()
    assert (data["object"], data["outcome"], data["rule"]) == ("collection", "paid", "A1")
    assert data["invoice"]["status"] == "paid"
    ran = shop.run("invoice", "collect", "R-1", "--yes")
    assert ran.code == 3
    assert "is paid" in ran.err
    assert shop.sql("SELECT count(*) FROM anchorhold.payment") == [(1,)]


def test_a_decline_is_exit_code_3_and_stands_on_the_screen(desk: Desk, tmp_path: Path) -> None:
    method = "pm_card_chargeCustomerFail"
    desk.take_in(
        tmp_path,
        "customer,payment_method,amount,currency,due_date,reference\n"
        f"acme,{method},149.00,eur,2026-11-01,R-1\n",
    )
    ran = desk.run("invoice", "collect", "R-1", "--yes", "-o", "table")
    assert ran.code == 3
    assert ran.lines[0].endswith("149.00 EUR  open, declined")
    assert ran.lines[1] == "Collect     declined"
    assert ran.lines[-1] == "Next        an operator collects"
    screen = "\n".join(desk.table("invoice", "show", "R-1"))
    assert "collect  declined  card_declined" in screen or "generic_decline" in screen


def test_collecting_is_refused_while_something_is_under_way(shop: Desk) -> None:
    shop.claim("R-1", ended="1 minute")
    for flag in ("--yes", "--dry-run"):
        ran = shop.run("invoice", "collect", "R-1", flag)
        assert ran.code == 3
        assert "[payment_in_flight]" in ran.err


def test_a_dry_run_charges_nothing(shop: Desk) -> None:
    lines = shop.table("invoice", "collect", "R-1", "--dry-run")
    assert lines[1] == "Collect     would charge 149.00 EUR to customer acme for R-1 (test mode)"
    assert shop.sql("SELECT FROM anchorhold.attempt") == []


def test_without_a_terminal_nobody_can_be_asked(shop: Desk) -> None:
    ran = shop.run("invoice", "collect", "R-1")
    assert ran.code == 2
    assert "[confirmation_missing]" in ran.err
    assert shop.sql("SELECT FROM anchorhold.attempt") == []


def test_a_no_charges_nothing(shop: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def no(text: str, **_: object) -> bool:
        asked.append(text)
        return False

    monkeypatch.setattr(asking, "is_terminal", lambda: True)
    monkeypatch.setattr(asking.typer, "confirm", no)
    ran = shop.run("invoice", "collect", "R-1")
    assert ran.code == 130
    assert asked == ["Shall I charge 149.00 EUR to customer acme for R-1 (test mode)?"]
    assert shop.sql("SELECT FROM anchorhold.attempt") == []


@pytest.mark.parametrize(
    ("meanwhile", "code"),
    [
        ("status = 'void'", "invoice_not_open"),
        ("amount_due = 15000", "changed_meanwhile"),
        ("amount_paid = amount_due", "nothing_due"),
    ],
)
def test_the_state_is_read_again_after_the_yes(
    meanwhile: str, code: str, shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def yes(_text: str, **_: object) -> bool:
        shop.sql(f"UPDATE anchorhold.invoice SET {meanwhile} WHERE reference = 'R-1'")
        return True

    monkeypatch.setattr(asking, "is_terminal", lambda: True)
    monkeypatch.setattr(asking.typer, "confirm", yes)
    ran = shop.run("invoice", "collect", "R-1")
    assert ran.code == 3
    assert f"[{code}]" in ran.err
    assert shop.sql("SELECT FROM anchorhold.attempt") == []


def test_attempts_payments_and_notices_are_listed(shop: Desk, twin: TwinServer) -> None:
    del twin
    shop.run("invoice", "collect", "R-1", "--yes")
    attempts = shop.table("attempt", "list", "--invoice", "R-1")
    assert "149.00 EUR  collect  succeeded" in attempts[1]
    assert attempts[-1] == "1 of 1"
    assert shop.table("attempt", "list", "--status", "failed") == ["No attempts fit."]
    payments = shop.table("payment", "list")
    assert "149.00 EUR  0.00 EUR  answer" in payments[1]
    (payment,) = shop.run("payment", "list", "--invoice", "R-1").ndjson()
    assert (payment["amount"], payment["display"]["amount"]) == (14900, "149.00 EUR")
    assert shop.table("notice", "list") == ["Nothing needs a person."]
    shop.sql(
        "INSERT INTO anchorhold.notice (account_id, livemode, id, code, invoice_id, subject,"
        " evidence) SELECT account_id, livemode, 'ntc_1', 'payment.duplicate_charge', id, 'pi_2',"
        """ '{"amount": 14900, "currency": "eur", "stripe_intent_id": "pi_2"}'"""
        " FROM anchorhold.invoice WHERE reference = 'R-1'"
    )
    notices = shop.table("notice", "list")
    assert "payment.duplicate_charge  149.00 EUR  pi_2" in notices[1]

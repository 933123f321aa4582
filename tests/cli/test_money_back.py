"""Refunds, notices and events at the command line."""

from pathlib import Path

import pytest

from anchorhold.twin import SECRET_KEY
from anchorhold.twin.server import TwinServer
from tests.cli.desk import Desk


@pytest.fixture
def shop(desk: Desk, tmp_path: Path) -> Desk:
    """An invoice of 149.00 EUR that was charged."""
    desk.take_in(tmp_path)
    ran = desk.run("invoice", "collect", "R-1", "--yes")
    assert ran.code == 0, ran.err
    return desk


def payment_of(shop: Desk) -> str:
    ((payment,),) = shop.sql("SELECT id FROM anchorhold.payment")
    return str(payment)


def test_a_refund_says_what_it_does_asks_and_shows_what_came_of_it(shop: Desk) -> None:
    payment = payment_of(shop)
    plan = ["payment", "refund", payment, "--amount", "49.00", "--reason", "late delivery"]
    dry = shop.run(*plan, "--dry-run", "--output", "json").json()
    assert (dry["dry_run"], dry["sentence"]) == (
        True,
        f"would refund 49.00 EUR of payment {payment} (test mode)",
    )
    assert "[confirmation_missing]" in shop.run(*plan).err
    done = shop.run(*plan, "--yes", "--output", "json").json()
    assert (done["rule"], done["state"]) == ("M1", "succeeded")
    assert done["payment"]["status"] == "partly_refunded"
    assert done["payment"]["amount_refunded"] == 4900
    lines = shop.table("payment", "show", payment)
    assert lines[0] == f"{payment}  149.00 EUR  partly refunded"
    assert "49.00 EUR  succeeded  late delivery" in lines[-1]


def test_more_than_is_left_is_refused_before_anybody_is_asked(shop: Desk) -> None:
    ran = shop.run("payment", "refund", payment_of(shop), "--amount", "150.00", "--reason", "x")
    assert ran.code == 3
    assert "has 149.00 EUR left to refund, and 150.00 EUR was asked for" in ran.err
    none = shop.run("payment", "refund", "pay_none", "--reason", "x")
    assert (none.code, "[payment_not_found]" in none.err) == (4, True)


def test_a_notice_is_shown_in_our_words_and_resolved_once(shop: Desk) -> None:
    shop.sql(
        "INSERT INTO anchorhold.notice (account_id, livemode, id, code, invoice_id, subject,"
        " evidence) SELECT account_id, livemode, 'ntc_1', 'collection.blocked', id, 'x',"
        """ '{"code": "resource_missing"}' FROM anchorhold.invoice WHERE reference = 'R-2'"""
    )
    lines = shop.table("notice", "show", "ntc_1")
    assert lines[0] == "ntc_1  collection.blocked  task"
    assert "Stripe refused the customer, the payment method or the amount." in lines[1]
    assert "[resolution_missing]" in shop.run("notice", "resolve", "ntc_1").err
    assert "[notice_has_no_refund]" in shop.run("notice", "resolve", "ntc_1", "--refund").err
    words = ["notice", "resolve", "ntc_1", "--resolution", "the card was replaced"]
    assert shop.run(*words, "--dry-run").code == 0
    assert shop.run(*words).code == 0
    again = shop.run(*words)
    assert (again.code, "[notice_resolved]" in again.err) == (3, True)
    assert "the card was replaced" in shop.table("notice", "show", "ntc_1")[-1]
    assert shop.table("notice", "list") == ["Nothing needs a person."]


def test_a_duplicate_is_given_back_by_one_act(shop: Desk) -> None:
    shop.sql("UPDATE anchorhold.payment SET amount_applied = 0")
    shop.sql(
        "INSERT INTO anchorhold.notice (account_id, livemode, id, code, invoice_id, subject,"
        " evidence) SELECT account_id, livemode, 'ntc_1', 'payment.duplicate_charge', invoice_id,"
        " stripe_intent_id, '{}' FROM anchorhold.payment"
    )
    act = ["notice", "resolve", "ntc_1", "--refund"]
    assert "would refund 149.00 EUR" in shop.run(*act, "--dry-run", "--output", "table").out
    assert shop.run(*act, "--yes", "--output", "json").json()["outcome"] == "refunded and resolved"
    (payment,) = shop.run("payment", "list").ndjson()
    assert payment["status"] == "refunded"


def test_a_tick_says_what_it_read_and_the_events_are_listed(shop: Desk, twin: TwinServer) -> None:
    del twin
    data = shop.run("tick", "--output", "json").json()["data"][0]
    assert (data["events"] > 0, data["events_by_rule"]) == (True, {"N1": data["events"]})
    lines = shop.table("event", "list", "--invoice", "R-1")
    assert "payment_intent.succeeded" in lines[1]
    (event,) = shop.run("event", "list", "--invoice", "R-1").ndjson()
    assert (event["state"], event["rule"]) == ("done", "N1")
    assert SECRET_KEY not in str(event)
    shown = shop.table("event", "show", event["id"])
    assert shown[0] == f"{event['id']}  payment_intent.succeeded  done"
    assert shop.run("event", "show", "evt_none").code == 4

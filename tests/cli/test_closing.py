"""Ending and changing invoices at the command line: a plan, a question, a second look."""

from pathlib import Path

import pytest

from anchorhold.cli import asking
from tests.cli.desk import CSV, Desk

ACTS = {
    "void": (["--reason", "made twice"], "void"),
    "write-off": (["--reason", "bankrupt"], "uncollectible"),
    "paid-elsewhere": (["--reference", "bank transfer"], "paid"),
    "amend": (["--amount", "99.00", "--reason", "late"], "open"),
}
acts = pytest.mark.parametrize("verb", ACTS)


@pytest.fixture
def filled(desk: Desk, tmp_path: Path) -> Desk:
    """A connected account with three invoices."""
    desk.take_in(tmp_path, CSV)
    return desk


def status(desk: Desk, reference: str = "R-1") -> str:
    ((found,),) = desk.sql("SELECT status FROM anchorhold.invoice WHERE reference = %s", reference)
    return str(found)


@acts
def test_it_ends_the_invoice_and_says_so(filled: Desk, verb: str) -> None:
    flags, ends = ACTS[verb]
    ran = filled.run("invoice", verb, "R-1", *flags, "--yes", "-o", "json")
    assert ran.code == 0, ran.err
    data = ran.json()
    assert (data["object"], data["dry_run"]) == (verb.replace("-", "_"), False)
    assert data["invoice"]["status"] == ends == status(filled)


@acts
def test_a_dry_run_says_what_would_happen_and_does_nothing(filled: Desk, verb: str) -> None:
    flags, _ = ACTS[verb]
    ran = filled.run("invoice", verb, "R-1", *flags, "--dry-run", "-o", "json")
    assert ran.code == 0, ran.err
    assert ran.json()["sentence"].startswith("would ")
    assert status(filled) == "open"


@acts
def test_without_a_terminal_and_without_yes_nothing_is_done(filled: Desk, verb: str) -> None:
    flags, _ = ACTS[verb]
    ran = filled.run("invoice", verb, "R-1", *flags)
    assert (ran.code, status(filled)) == (2, "open")
    assert "[confirmation_missing]" in ran.err


@acts
def test_a_hold_refuses_it_with_its_facts(filled: Desk, verb: str) -> None:
    flags, _ = ACTS[verb]
    filled.claim("R-1")
    ran = filled.run("invoice", verb, "R-1", *flags, "--yes", "-o", "json")
    assert (ran.code, status(filled)) == (3, "open")
    data = ran.json()
    assert (data["object"], data["code"]) == ("refusal", "payment_in_flight")
    assert data["hold"]["state"] == "live"
    assert data["hold"]["next_check_at"]
    assert "[payment_in_flight]" in ran.err


@acts
def test_words_of_nothing_are_refused(filled: Desk, verb: str) -> None:
    flags = [*ACTS[verb][0][:-1], " "]
    ran = filled.run("invoice", verb, "R-1", *flags, "--yes")
    assert (ran.code, status(filled)) == (2, "open")
    assert "[reason_missing]" in ran.err


def test_what_moved_while_the_question_was_open_is_refused(
    filled: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def agrees(*_: object, **__: object) -> bool:
        filled.sql("UPDATE anchorhold.invoice SET amount_due = amount_due - 1")
        return True

    monkeypatch.setattr(asking, "is_terminal", lambda: True)
    monkeypatch.setattr(asking.typer, "confirm", agrees)
    ran = filled.run("invoice", "void", "R-1", "--reason", "made twice")
    assert (ran.code, status(filled)) == (3, "open")
    assert "[changed_meanwhile]" in ran.err


def test_a_write_off_on_a_stale_hold_says_that_it_is_still_looked_for(filled: Desk) -> None:
    filled.claim("R-1", ended="10 minutes")
    ran = filled.run("invoice", "write-off", "R-1", "--reason", "bankrupt", "--yes", "-o", "json")
    data = ran.json()
    assert (data["keeps_hold"], data["invoice"]["status"]) == (True, "uncollectible")
    assert data["invoice"]["hold"]["state"] == "stale"


def test_an_amount_that_is_none_is_refused(filled: Desk) -> None:
    ran = filled.run("invoice", "amend", "R-1", "--amount", "9,9", "--reason", "late", "--yes")
    assert ran.code == 2
    assert "[amount_malformed]" in ran.err


def test_an_intent_can_be_abandoned_after_the_account_changed(filled: Desk) -> None:
    filled.claim("R-1")
    filled.sql("UPDATE anchorhold.invoice SET hold_until = NULL, hold_attempt = NULL")
    flags = ["--reason", "account closed", "--yes", "-o", "json"]
    ran = filled.run("invoice", "abandon-intent", "R-1", *flags)
    assert (ran.code, ran.json()["code"]) == (3, "nothing_to_abandon")
    filled.sql("UPDATE anchorhold.intent SET stripe_account = 'acct_before'")
    ran = filled.run("invoice", "abandon-intent", "R-1", *flags)
    assert ran.code == 0, ran.err
    assert ran.json()["invoice"]["intent_id"] is None


def test_credit_is_given_after_a_question_and_shown(filled: Desk) -> None:
    give = ["customer", "credit", "acme", "--give", "10.00", "--currency", "eur"]
    assert filled.run(*give, "--yes").code == 2
    assert filled.run(*give, "--reason", "late").code == 2
    assert filled.run("customer", "credit", "acme", "-o", "json").json()["balances"] == []
    ran = filled.run(*give, "--reason", "late", "--yes", "-o", "json")
    assert ran.code == 0, ran.err
    data = ran.json()
    assert data["balances"] == [{"currency": "eur", "balance": 1000, "display": "10.00 EUR"}]
    assert data["entries"][0]["reason"] == "late"
    assert "10.00 EUR" in "\n".join(filled.table("customer", "credit", "acme"))


def test_a_dry_run_of_credit_gives_nothing(filled: Desk) -> None:
    give = ["customer", "credit", "acme", "--give", "10.00", "--currency", "eur"]
    ran = filled.run(*give, "--reason", "late", "--dry-run", "-o", "json")
    assert ran.json()["balances"] == []
    assert "would give 10.00 EUR" in ran.err


def test_a_story_tells_how_it_ended(filled: Desk) -> None:
    filled.run("invoice", "void", "R-1", "--reason", "made twice", "--yes")
    told = "\n".join(filled.table("invoice", "story", "R-1"))
    assert "made void, 149.00 EUR was due: made twice" in told

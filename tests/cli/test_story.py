"""Every fact that the store writes into a journal has its sentence."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from anchorhold.cli.story import SENTENCES, line, sentence
from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.disputes import Dispute
from anchorhold.domain.ids import AttemptId
from anchorhold.domain.payment import Verdict
from anchorhold.domain.refund import RefundState
from anchorhold.store.views_journal import JournalEntry
from tests.cli.desk import Desk
from tests.store.statements import statements

FACTS: dict[str, object] = {
    "reference": "R-1",
    "stripe_intent_id": "pi_1",
    "number": 1,
    "reason": "Stripe answered 500",
    "code": "card_declined",
    "message": "Your card was declined.",
    "kind": "auto",
    "said": "no",
    "outcome": "recovered",
    "amount": 14900,
    "currency": "eur",
    "hold_until": "2026-11-30T13:10:00+00:00",
    "cause": "connection_lost",
    "decline": {"code": "card_declined", "decline_code": "insufficient_funds", "message": "No."},
    "source": "sweep",
    "notice_id": "ntc_1",
    "link_id": "lnk_1",
    "resolution": "agreed with the customer",
}


def written() -> set[str]:
    """Every `what` in a statement of the store that writes to the journal."""
    found: set[str] = set()
    for statement in statements():
        for told in statement.sql.split("INSERT INTO anchorhold.journal")[1:]:
            rows = told.partition("INSERT INTO")[0]
            found |= set(re.findall(r"'([a-z]+\.[a-z_]*)'", rows))
    return found


def whats() -> set[str]:
    built = {f"attempt.{state.value}" for state in AttemptState}
    built |= {f"payment.{verdict.value}" for verdict in Verdict}
    built |= {f"refund.{state.value}" for state in RefundState}
    built |= {f"dispute.{dispute.value}" for dispute in Dispute}
    return {what for what in written() if not what.endswith(".")} | built


def test_the_store_writes_what_this_test_finds() -> None:
    assert {"invoice.opened", "attempt.claimed", "hold.kept", "attempt.", "payment."} <= written()


@pytest.mark.parametrize("what", sorted(whats()))
def test_everything_the_store_writes_has_a_sentence(what: str) -> None:
    assert what in SENTENCES


def entry(what: str, **detail: object) -> JournalEntry:
    at = datetime(2026, 11, 30, 13, 5, tzinfo=UTC)
    return JournalEntry(1, at, "worker:host:1", what, "A7", AttemptId("att_1"), detail)


@pytest.mark.parametrize("what", sorted(SENTENCES))
def test_no_sentence_lacks_a_fact_or_says_unknown(what: str) -> None:
    said = sentence(entry(what.partition(",")[0], **FACTS))
    assert "?" not in said
    assert "{" not in said
    assert "unknown" not in said


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("attempt.claimed", "took the hold for an automatic charge, 149.00 EUR, until "
                            "2026-11-30T13:10:00Z"),
        ("attempt.failed", "the bank declined: insufficient_funds: No."),
        ("attempt.unknown", "no clear answer (connection lost): being confirmed with Stripe, the "
                            "hold stays"),
        ("payment.paid", "paid: 149.00 EUR, the news came from the sweep"),
    ],
)  # fmt: skip
def test_sentences_carry_their_facts(what: str, said: str) -> None:
    assert sentence(entry(what, **FACTS)) == said


def test_a_claim_that_was_only_kept_is_told_apart_from_a_claim() -> None:
    said = sentence(entry("attempt.claimed", cause="server_error"))
    assert said == "the PaymentIntent could not be cancelled yet (server error); the hold stays"


def test_what_stripe_refused_is_no_decline_of_the_bank() -> None:
    at = datetime(2026, 11, 30, 13, 5, tzinfo=UTC)
    facts: dict[str, object] = {"decline": {"code": "resource_missing", "message": "No such card."}}
    refused = JournalEntry(1, at, "worker:host:1", "attempt.failed", "A12", None, facts)
    assert sentence(refused) == (
        "Stripe refused the request before any charge: resource_missing: No such card.; collecting "
        "is blocked"
    )


def test_after_a_cancelled_intent_the_next_attempt_has_another_one() -> None:
    said = sentence(entry("attempt.superseded", cause="intent_canceled"))
    assert said == (
        "Stripe shows no charge of this attempt, and its PaymentIntent is cancelled; the next one "
        "can be prepared"
    )


def test_a_line_says_when_by_which_rule_what_and_who() -> None:
    assert line(entry("attempt.processing")) == (
        "2026-11-30T13:05:00Z  A7    the bank decides later: the PaymentIntent is followed"
        "  (worker:host:1)"
    )


def test_a_story_is_told_from_the_beginning(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    desk.run("invoice", "collect", "R-1", "--yes")
    lines = desk.table("invoice", "story", "R-1")
    said = [text.partition("Z  ")[2] for text in lines[1:-1]]
    assert said[0].strip().startswith("the invoice was opened as R-1  (operator:")
    assert "was prepared (number 1)" in said[1]
    assert "took the hold for an operator's charge, 149.00 EUR" in said[2]
    assert said[3].startswith("A1    paid: 149.00 EUR, the news came from the answer")
    assert lines[-1] == "Next        nothing"
    rows = desk.run("invoice", "story", "R-1").ndjson()
    assert [row["what"] for row in rows] == [
        "invoice.opened",
        "intent.prepared",
        "attempt.claimed",
        "payment.paid",
    ]


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("another_request", "another request is at work at Stripe; the hold stays"),
        ("key_reused", "an earlier request under this key did reach Stripe; the hold stays"),
        ("intent_not_shown", "Stripe does not show the PaymentIntent to this key; the hold stays"),
    ],
)
def test_a_hold_that_was_kept_says_by_which_answer(cause: str, words: str) -> None:
    assert sentence(entry("attempt.sending", cause=cause)) == words

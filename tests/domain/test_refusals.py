"""The table of refusals, walked row by row."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest

from anchorhold.domain.refusal_kinds import Coded
from anchorhold.domain.refusals import CODES, Code, Exit, Kind, Refusal

ALLOWED = {
    "invalid_request_error": {400, 405},
    "authentication_error": {401},
    "card_error": {402},
    "permission_error": {403},
    "not_found_error": {404},
    "conflict_error": {409},
    "idempotency_error": {409, 422},
    "rate_limit_error": {429},
    "provider_error": {503},
    "api_error": {500, 503, 504},
}
"""Error types and the statuses that each may have."""

NAMED = {
    "payment_in_flight", "invoice_not_open", "invoice_not_found", "customer_not_found",
    "account_not_found", "attempt_not_found", "hold_not_found", "nothing_due",
    "collection_blocked", "account_flagged", "provider_unavailable", "provider_refused",
    "stripe_account_changed", "import_row_invalid", "import_columns_missing",
    "import_file_unreadable", "amount_too_small", "amount_too_large", "currency_unknown",
    "amount_malformed", "settings_invalid", "timing_unsafe", "database_unreachable",
    "database_password_wrong", "schema_outdated", "schema_newer", "port_taken",
    "data_dir_unwritable", "stripe_key_missing", "stripe_key_refused", "stripe_unreachable",
    "secret_key_missing",
}  # fmt: skip


def filled(code: Coded) -> Refusal:
    return Refusal(code, **dict.fromkeys(code.facts, "something"))


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.code)
def test_every_refusal_is_a_sentence_and_names_the_next_step(code: Coded) -> None:
    refusal = filled(code)
    assert refusal.sentence.endswith(".")
    assert refusal.next_step.endswith(".")
    assert "{" not in str(refusal)
    assert code.code in str(refusal)


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.code)
def test_every_refusal_has_an_allowed_status_and_says_no_to_the_shell(code: Coded) -> None:
    assert code.surface.status in ALLOWED[code.surface.error_type]
    assert code.surface.exit not in {Exit.DONE, Exit.FINDINGS, Exit.INTERRUPTED}


def test_the_refusals_that_the_product_promises_are_there() -> None:
    assert {code.code for code in CODES} >= NAMED


def test_no_kind_of_refusal_is_without_a_refusal() -> None:
    assert {code.value.kind for code in CODES} == set(Kind)


def test_provider_refusals_always_say_whether_anything_was_sent() -> None:
    provider = [code for code in CODES if code.surface.error_type == "provider_error"]
    assert provider
    for code in provider:
        assert "sent" in code.facts or "Nothing was sent" in code.value.sentence


def test_two_refusals_never_share_a_sentence() -> None:
    sentences = [code.value.sentence for code in CODES]
    assert len(set(sentences)) == len(sentences)


def test_the_anchor_and_the_code_come_from_the_name() -> None:
    assert Code.PAYMENT_IN_FLIGHT.code == "payment_in_flight"
    assert Code.PAYMENT_IN_FLIGHT.anchor == "refusals#payment_in_flight"


@pytest.fixture
def a_machine_in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("a_machine_in_tokyo")
def test_a_refusal_carries_its_facts_and_shows_times_in_utc() -> None:
    at = datetime(2026, 11, 30, 16, 0, tzinfo=timezone(timedelta(hours=2)))
    refusal = Refusal(Code.PAYMENT_IN_FLIGHT, invoice="inv_1", next_check_at=at, state="stale")
    assert refusal.facts == {"invoice": "inv_1", "next_check_at": at, "state": "stale"}
    assert "next check at 2026-11-30T14:00:00Z." in refusal.sentence
    assert refusal.next_step.endswith("`anchorhold hold check inv_1`.")


def test_a_refusal_stays_one_line_and_one_full_stop_whatever_its_facts() -> None:
    refusal = Refusal(Code.IMPORT_ROW_INVALID, line=3, column="amount", reason="bad\nworse {x}.")
    assert refusal.sentence == "Line 3, column amount: bad worse {x}."


def test_a_fact_that_the_sentence_needs_and_nobody_gave_is_a_loud_bug() -> None:
    with pytest.raises(KeyError, match="invoice"):
        Refusal(Code.NOTHING_DUE)

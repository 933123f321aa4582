"""What the rows of a database that lost its tail say about an intent."""

from dataclasses import replace

import pytest

from anchorhold.domain.answer import IntentStatus, IntentView
from anchorhold.domain.ids import ACCOUNT, InvoiceId, derive
from anchorhold.domain.intent import METADATA_ACCOUNT, METADATA_INVOICE, METADATA_NUMBER
from anchorhold.domain.recovering import (
    Bill,
    Row,
    Standing,
    bill_of,
    decide,
    half_shown,
    invoice_of,
    is_ours,
    number_of,
    row_of,
)
from anchorhold.domain.scope import Scope
from tests.domain.views import charge, intent

SCOPE = Scope(derive(ACCOUNT, "a"), livemode=False)
STANDS = Standing(
    intent_id="pi_1",
    invoice_id=InvoiceId("inv_1"),
    known=True,
    open=True,
    seq=0,
    amount=1000,
    currency="eur",
    held=False,
    free=True,
    own=False,
    followed=False,
    paid=False,
    named=False,
    preparing=None,
)


def numbered(number: str, status: IntentStatus = IntentStatus.REQUIRES_CONFIRMATION) -> IntentView:
    return replace(intent(status), metadata={METADATA_NUMBER: number})


@pytest.mark.parametrize(
    ("number", "says"),
    [("1", 1), ("2147483647", 2147483647), ("2147483648", None), ("0", None), ("-1", None),
     ("", None), ("one", None), ("٣", None)],
)  # fmt: skip
def test_a_number_is_one_that_we_can_have_given(number: str, says: int | None) -> None:
    assert number_of(numbered(number)) == says


def test_an_intent_of_the_direct_mode_has_no_number() -> None:
    assert number_of(intent()) is None


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        ({"paid": True, "followed": True}, Row.SETTLED),
        ({"followed": True, "own": True}, Row.FOLLOWED),
        ({"own": True, "named": True}, Row.LIVE),
        ({"named": True}, Row.ENDED),
        ({"preparing": 3}, Row.UNDER_WAY),
        ({"preparing": 4}, Row.LOST),
        ({}, Row.WANTED),
        ({"free": False}, Row.LOST),
        ({"amount": 999}, Row.LOST),
        ({"currency": "usd"}, Row.LOST),
    ],
)
def test_what_the_rows_know_of_an_intent(changes: dict[str, object], row: Row) -> None:
    stands = replace(STANDS, **changes)  # pyrefly: ignore[bad-argument-type] - the standing's own fields
    assert row_of(numbered("3"), stands) is row


def test_one_without_a_number_is_never_wanted() -> None:
    assert row_of(intent(IntentStatus.REQUIRES_CONFIRMATION), STANDS) is Row.LOST


def test_an_invoice_is_unknown_open_or_closed() -> None:
    assert bill_of(STANDS) is Bill.OPEN
    assert bill_of(replace(STANDS, open=False)) is Bill.CLOSED
    assert bill_of(replace(STANDS, known=False)) is Bill.UNKNOWN


def test_the_first_rule_that_fits_decides() -> None:
    assert decide(numbered("3"), STANDS).id == "V11"
    assert decide(numbered("3"), replace(STANDS, amount=1)).id == "V12"
    assert decide(numbered("3", IntentStatus.SUCCEEDED), replace(STANDS, paid=True)).id == "V2"
    assert decide(numbered("3", IntentStatus.SUCCEEDED), STANDS).id == "V3"
    assert decide(numbered("3", IntentStatus.CANCELED), replace(STANDS, own=True)).id == "V13"


def test_ours_is_what_names_the_account_and_an_invoice() -> None:
    both = {METADATA_ACCOUNT: SCOPE.account_id, METADATA_INVOICE: "inv_1"}
    assert is_ours(SCOPE, replace(intent(), metadata=both))
    assert invoice_of(replace(intent(), metadata=both)) == "inv_1"
    assert not is_ours(SCOPE, replace(intent(), metadata={METADATA_INVOICE: "inv_1"}))
    assert not is_ours(SCOPE, replace(intent(), metadata={METADATA_ACCOUNT: SCOPE.account_id}))


def test_a_success_whose_charge_was_only_named_is_half_shown() -> None:
    assert half_shown(intent(IntentStatus.SUCCEEDED))
    assert not half_shown(intent(IntentStatus.SUCCEEDED, charge()))
    assert not half_shown(intent(IntentStatus.CANCELED))

"""Invoices from a file: rows are ready or named as bad; the same file twice changes nothing."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from anchorhold.domain.ids import CUSTOMER, make
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.imports import preview, take_in
from anchorhold.engine.invoice_file import BadRow, judge
from anchorhold.store import customers, invoices
from anchorhold.store.invoices import NewInvoice
from tests.engine.rig import Rig

HEADER = "customer,email,payment_method,amount,currency,due_date,reference\n"

OURS = make(CUSTOMER, 0, bytes(10))


def rows(*lines: str) -> list[NewInvoice]:
    judged = judge((HEADER + "\n".join(lines)).splitlines(keepends=True), "f.csv")
    assert judged.bad == []
    return judged.rows


def bad(*lines: str) -> list[BadRow]:
    return judge((HEADER + "\n".join(lines)).splitlines(keepends=True), "f.csv").bad


def test_a_row_is_read_exactly() -> None:
    (row,) = rows("acme,a@example.com,pm_card_visa,149.00,EUR,2026-12-01,R-1")
    assert row == NewInvoice(
        reference="R-1",
        customer="acme",
        email="a@example.com",
        payment_method="pm_card_visa",
        amount=14900,
        currency="eur",
        due_at=datetime(2026, 12, 1, tzinfo=UTC),
    )


def test_columns_come_in_any_order_and_optional_ones_may_be_missing() -> None:
    text = ["Reference, currency ,amount,due_date,customer\n", "R-1,jpy,5000,2026-12-01,acme\n"]
    (row,) = judge(text, "f.csv").rows
    assert (row.amount, row.currency, row.email, row.payment_method) == (5000, "jpy", None, None)


def test_a_due_time_keeps_its_offset() -> None:
    (row,) = rows("acme,,,1.00,eur,2026-12-01T09:00:00+02:00,R-1")
    assert row.due_at == datetime(2026, 12, 1, 9, tzinfo=timezone(timedelta(hours=2)))


def test_a_stripe_customer_is_given_by_its_stripe_id() -> None:
    (row,) = rows("cus_9s6XKzkNRiz8i3,,,1.00,eur,2026-12-01,R-1")
    assert row.customer == "cus_9s6XKzkNRiz8i3"


def test_empty_lines_are_no_rows_and_quoted_text_may_have_commas() -> None:
    (row,) = rows("", '"Acme, Inc.",,,1.00,eur,2026-12-01,R-1', "")
    assert row.customer == "Acme, Inc."


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        (",,,1.00,eur,2026-12-01,R", "customer", "it is empty"),
        ("a,,,1.00,eur,2026-12-01,", "reference", "it is empty"),
        ("a,nobody,,1.00,eur,2026-12-01,R", "email", "'nobody' is not an e-mail address"),
        ("a,,visa,1.00,eur,2026-12-01,R", "payment_method", "'visa' is not a Stripe payment"),
        ("a,,,1.005,eur,2026-12-01,R", "amount", "this currency has 2 decimals"),
        ("a,,,1e3,eur,2026-12-01,R", "amount", "not a plain decimal number"),
        ("a,,,-1.00,eur,2026-12-01,R", "amount", "not a plain decimal number"),
        ("a,,,0.49,eur,2026-12-01,R", "amount", "less than the 0.50 EUR that Stripe charges"),
        ("a,,,0,jpy,2026-12-01,R", "amount", "less than the"),
        ("a,,,1000000.00,eur,2026-12-01,R", "amount", "more than the 999,999.99 EUR"),
        ("a,,,5.001,kwd,2026-12-01,R", "amount", "Stripe needs its last decimal to be 0"),
        ("a,,,1.00,euro,2026-12-01,R", "currency", "'euro' is not a currency"),
        ("a,,,1.00,eur,1.12.2026,R", "due_date", "'1.12.2026' is not a date"),
        ("a,,,1.00,eur,2026-02-30,R", "due_date", "'2026-02-30' is not a date"),
        ("a,,,1.00,eur,2026-12-01T09:00:00,R", "due_date", "no offset from UTC"),
        ("a,,,1.00,eur,20261201,R", "due_date", "'20261201' is not a date"),
        ("a,,,1.00,eur,9999-12-31T23:59:59-14:00,R", "due_date", "is not a date"),
        ("a,,,1.00,eur,0001-01-01T00:00:00+14:00,R", "due_date", "is not a date"),
        ("a,,,1.00,eur,2026-12-01", "reference", "the row has 6 values for 7 columns"),
        ("a,,,1.00,eur,2026-12-01,R,x", "reference", "the row has 8 values for 7 columns"),
        ("a\x00,,,1.00,eur,2026-12-01,R", "customer", "it has a control character"),
        ("a\x9b31m,,,1.00,eur,2026-12-01,R", "customer", "it has a control character"),
        ("a\u202eb,,,1.00,eur,2026-12-01,R", "customer", "it has a control character"),
        (f"{'a' * 256},,,1.00,eur,2026-12-01,R", "customer", "more than 255 characters"),
        (
            f"{make(CUSTOMER, 0, bytes(10))},,,1.00,eur,2026-12-01,R",
            "customer",
            "an id of Anchorhold's",
        ),
    ],
)
def test_a_bad_row_is_named_with_line_column_and_reason(
    line: str, column: str, reason: str
) -> None:
    good = "good,,,1.00,eur,2026-12-01,G-1"
    (found,) = bad(good, line)
    assert (found.line, found.column) == (3, column)
    assert reason in found.reason


def test_a_reference_twice_in_a_file_is_bad_the_second_time() -> None:
    (found,) = bad("a,,,1.00,eur,2026-12-01,R", "b,,,2.00,eur,2026-12-01,R")
    assert found == BadRow(3, "reference", "'R' is on line 2 too")


@pytest.mark.parametrize(
    ("first", "second", "column"),
    [
        ("a,x@example.com,", "a,y@example.com,", "email"),
        ("a,,pm_card_visa", "a,,pm_card_amex", "payment_method"),
    ],
)
def test_a_customer_that_says_two_things_is_bad(first: str, second: str, column: str) -> None:
    (found,) = bad(f"{first},1.00,eur,2026-12-01,R-1", f"{second},1.00,eur,2026-12-01,R-2")
    assert (found.line, found.column) == (3, column)
    assert "on line 2" in found.reason


def test_a_line_number_counts_the_lines_inside_of_quotes() -> None:
    found = bad('"two\nlines",,,1.00,eur,2026-12-01,R', "a,,,x,eur,2026-12-01,S")
    assert [row.line for row in found] == [2, 4]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("", Code.IMPORT_COLUMNS_MISSING, "customer, amount, currency, due_date, reference"),
        ("customer,amount,currency,due_date\n", Code.IMPORT_COLUMNS_MISSING, "column reference"),
        (HEADER.replace("email", "e-mail"), Code.IMPORT_COLUMN_UNKNOWN, "perhaps email was"),
        (HEADER.replace("email", "phone"), Code.IMPORT_COLUMN_UNKNOWN, "it may have customer"),
        (HEADER.replace("email", "amount"), Code.IMPORT_FILE_UNREADABLE, "column amount twice"),
        (HEADER.replace(",", ";"), Code.IMPORT_FILE_UNREADABLE, "not separated by commas"),
        (HEADER + 'a,"b', Code.IMPORT_FILE_UNREADABLE, "line 2"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused(text: str, code: Code, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        judge(text.splitlines(keepends=True), "f.csv")
    assert refused.value.code is code
    assert words in refused.value.sentence


LINES = (
    "acme,a@example.com,pm_card_visa,149.00,eur,2026-11-01,R-1",
    "acme,,,5000,jpy,2026-11-01,R-2",
    "emca,,pm_card_visa,10.000,kwd,2026-11-01,R-3",
)


async def test_the_same_file_twice_changes_nothing(world: Rig) -> None:
    first = await take_in(world.pool, world.scope, rows(*LINES), actor="test")
    before = world.sql("SELECT to_jsonb(i) FROM anchorhold.invoice i ORDER BY id")
    again = await take_in(world.pool, world.scope, rows(*LINES), actor="test")
    assert (len(first.created), first.already, first.differing) == (3, [], [])
    assert (again.created, len(again.already), again.differing) == ([], 3, [])
    assert world.sql("SELECT to_jsonb(i) FROM anchorhold.invoice i ORDER BY id") == before


@pytest.mark.parametrize(
    "line",
    [
        "acme,,,150.00,eur,2026-11-01,R-1",
        "acme,,,149.00,usd,2026-11-01,R-1",
        "emca,,,149.00,eur,2026-11-01,R-1",
        "new,,,149.00,eur,2026-11-01,R-1",
    ],
)
async def test_a_reference_with_other_facts_is_named_and_left_alone(world: Rig, line: str) -> None:
    await take_in(world.pool, world.scope, rows(*LINES), actor="test")
    before = world.sql("SELECT to_jsonb(i) FROM anchorhold.invoice i ORDER BY id")
    seen = await preview(world.pool, world.scope, rows(line))
    done = await take_in(world.pool, world.scope, rows(line), actor="test")
    assert (done.created, done.already, done.differing) == ([], [], ["R-1"])
    assert (seen.created, seen.already, seen.differing) == (0, 0, ["R-1"])
    assert world.sql("SELECT to_jsonb(i) FROM anchorhold.invoice i ORDER BY id") == before


async def test_a_preview_says_what_would_happen_and_changes_nothing(world: Rig) -> None:
    await take_in(world.pool, world.scope, rows(LINES[0]), actor="test")
    seen = await preview(world.pool, world.scope, rows(*LINES))
    assert (seen.created, seen.already, seen.differing) == (2, 1, [])
    assert world.sql("SELECT count(*) FROM anchorhold.invoice") == [(1,)]


async def test_imported_invoices_are_paid_once(world: Rig) -> None:
    done = await take_in(world.pool, world.scope, rows(*LINES), actor="test")
    await world.charge_due()
    assert world.paid_at_stripe() == dict.fromkeys(done.created, 1)


async def test_customers_whose_import_died_half_way_are_begun_by_the_next(world: Rig) -> None:
    await invoices.take_in(world.pool, world.scope, rows(*LINES), actor="test")
    assert await customers.take_unready(world.pool, world.scope, limit=9) == []
    await take_in(world.pool, world.scope, rows(*LINES), actor="test")
    assert len(await customers.take_unready(world.pool, world.scope, limit=9)) == 2


async def test_an_empty_file_changes_nothing(world: Rig) -> None:
    done = await take_in(world.pool, world.scope, [], actor="test")
    assert (done.created, done.already, done.differing) == ([], [], [])

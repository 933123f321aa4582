"""Importing, listing and showing invoices."""

from pathlib import Path

import pytest

from tests.cli.desk import CSV, HEADER, Desk


def test_a_file_is_taken_in_and_the_same_file_again_changes_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    assert desk.take_in(tmp_path, CSV, "-o", "table").lines == ["3 invoices new, 0 there before"]
    again = desk.take_in(tmp_path, CSV, "-o", "table")
    assert again.lines == ["0 invoices new, 3 there before", "Nothing changed."]
    assert desk.sql("SELECT count(*) FROM anchorhold.invoice") == [(3,)]


def test_an_import_is_an_object_with_every_number(desk: Desk, tmp_path: Path) -> None:
    text = f"{HEADER}\nacme,,,1.00,eur,2026-12-01,R-1\nacme,,,x,eur,2026-12-01,R-2\n"
    data = desk.take_in(tmp_path, text, "--skip-bad", "-o", "json").json()
    assert data == {
        "object": "import",
        "id": None,
        "dry_run": False,
        "rows": 2,
        "created": 1,
        "already_there": 0,
        "differing": [],
        "skipped": [
            {
                "line": 3,
                "column": "amount",
                "reason": "'x' is not an amount in EUR: it is not a plain decimal number.",
            }
        ],
        "invoices": [desk.id_of("R-1")],
    }


def test_an_import_prints_the_new_ids_for_scripts(desk: Desk, tmp_path: Path) -> None:
    ran = desk.take_in(tmp_path, CSV, "-o", "ids")
    assert sorted(ran.lines) == sorted(desk.id_of(f"R-{n}") for n in (1, 2, 3))
    assert desk.take_in(tmp_path, CSV, "-o", "ids").out == ""


def test_bad_rows_refuse_the_file_and_each_is_named_up_to_twenty(
    desk: Desk, tmp_path: Path
) -> None:
    rows = "".join(f"acme,,,x,eur,2026-12-01,R-{n}\n" for n in range(23))
    ran = desk.take_in(tmp_path, f"{CSV}{rows}")
    lines = ran.err.splitlines()
    assert ran.code == 2
    assert lines[0].startswith("Line 5, column amount: 'x' is not an amount in EUR")
    assert lines[20] == "… and 3 more"
    assert "Of the 26 rows of" in lines[21]
    assert "23 cannot be imported. [import_rows_invalid]" in lines[21]
    assert desk.sql("SELECT FROM anchorhold.invoice") == []


def test_a_dry_run_says_what_would_happen(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path, "\n".join(CSV.splitlines()[:2]))
    more = CSV.replace("149.00", "150.00")
    ran = desk.take_in(tmp_path, more, "--dry-run", "-o", "table")
    assert ran.lines == [
        "2 invoices would be new, 0 there before",
        "1 there before with other facts, left as they are:",
        "  R-1",
    ]
    assert desk.sql("SELECT count(*) FROM anchorhold.invoice") == [(1,)]


def test_a_byte_order_mark_is_read_over(desk: Desk, tmp_path: Path) -> None:
    assert desk.take_in(tmp_path, f"\ufeff{CSV}").code == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file or directory. [import_file_unreadable]"),
        (HEADER.encode() + b"\n\xff\xfe", "is not UTF-8. [import_file_unreadable]"),
        (b"customer,amount\n", "has no column currency, due_date, reference"),
        (HEADER.replace("email", "mail").encode(), "perhaps email was meant"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    content: bytes | None, words: str, desk: Desk, tmp_path: Path
) -> None:
    file = tmp_path / "invoices.csv"
    if content is not None:
        file.write_bytes(content)
    ran = desk.run("invoice", "import", str(file))
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert words in ran.err


def test_an_import_wakes_a_worker(desk: Desk, tmp_path: Path) -> None:
    desk.sql("DELETE FROM anchorhold.procrastinate_jobs")
    desk.take_in(tmp_path)
    jobs = "SELECT task_name FROM anchorhold.procrastinate_jobs"
    assert desk.sql(jobs) == [("collect",)]
    desk.sql("DELETE FROM anchorhold.procrastinate_jobs")
    desk.take_in(tmp_path)
    assert desk.sql(jobs) == []


def test_a_table_says_how_many_of_how_many_and_how_to_go_on(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    lines = desk.table("invoice", "list", "--status", "open", "--limit", "2")
    last = lines[-1]
    ids = [line.split()[0] for line in lines[1:3]]
    assert last == (
        f"2 of 3 - next: `anchorhold invoice list --status open --starting-after {ids[1]}`"
    )
    rest = desk.table("invoice", "list", "--status", "open", "--starting-after", ids[1])
    assert rest[-1] == "1 of 3"


def test_rows_of_a_table_say_amount_status_and_who_acts_next(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    rows = {line.split()[1]: line for line in desk.table("invoice", "list")[1:4]}
    assert "149.00 EUR  open" in rows["R-1"]
    assert "5,000 JPY  open" in rows["R-2"]
    assert rows["R-1"].endswith("a worker prepares and charges it")
    assert "10.000 KWD" in rows["R-3"]
    assert " days" in rows["R-3"]


def test_exact_times_are_shown_when_asked_for(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    assert "2026-11-01T00:00:00Z" in "\n".join(desk.table("invoice", "list", "--utc"))


def test_a_pipe_gets_lines_and_json_is_a_list_as_in_the_api(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    lines = desk.run("invoice", "list").ndjson()
    page = desk.run("invoice", "list", "--limit", "2", "-o", "json").json()
    assert [row["id"] for row in lines[:2]] == [row["id"] for row in page["data"]]
    assert (page["object"], page["has_more"]) == ("list", True)
    ids = desk.run("invoice", "list", "-o", "ids").lines
    assert ids == [row["id"] for row in lines]


def test_all_pages_are_printed_when_asked_for(desk: Desk, tmp_path: Path) -> None:
    rows = "".join(f"acme,,,1.00,eur,2026-12-01,S-{n}\n" for n in range(120))
    desk.take_in(tmp_path, f"{HEADER}\n{rows}")
    assert len(desk.run("invoice", "list", "--all", "-o", "ids").lines) == 120
    assert len(desk.run("invoice", "list", "--all", "-o", "json").json()["data"]) == 120
    assert desk.table("invoice", "list", "--all")[-1] == "120 of 120"


def test_an_invoice_is_shown_with_the_fields_of_the_api(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    data = desk.run("invoice", "show", "R-1", "--output", "json").json()
    assert data["object"] == "invoice"
    assert data["id"] == desk.id_of("R-1")
    assert (data["amount_due"], data["amount_paid"], data["currency"]) == (14900, 0, "eur")
    assert data["display"]["amount_due"] == "149.00 EUR"
    assert data["hold"]["state"] == "none"
    assert data["due_at"] == "2026-11-01T00:00:00Z"
    for name in ("account_id", "livemode", "customer_id", "reference", "status", "payment_status",
                 "collection", "blocked_reason", "intent_id", "attempts", "payments"):  # fmt: skip
        assert name in data


def test_the_screen_of_an_invoice_says_what_happens_next(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    lines = desk.table("invoice", "show", "R-1")
    invoice = desk.id_of("R-1")
    assert lines[0] == f"{invoice}  149.00 EUR  open"
    assert "Reference   R-1" in lines
    assert "Next        a worker prepares and charges it" in lines
    assert f"Story       anchorhold invoice story {invoice}" in lines


def test_an_invoice_that_is_not_there_is_not_found(desk: Desk) -> None:
    ran = desk.run("invoice", "show", "R-9")
    assert ran.code == 4
    assert "There is no invoice R-9. [invoice_not_found]" in ran.err


def test_an_empty_list_teaches(desk: Desk) -> None:
    assert desk.table("invoice", "list") == ["No invoices yet: `anchorhold invoice import FILE`."]
    assert desk.table("invoice", "list", "--status", "paid") == ["No invoices fit."]
    assert desk.run("invoice", "list").out == ""


def test_a_list_can_be_of_one_customer(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    assert len(desk.run("invoice", "list", "--customer", "acme").ndjson()) == 2
    assert desk.run("invoice", "list", "--customer", "nobody").code == 4


def test_customers_are_listed_and_shown(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    lines = desk.table("customer", "list")
    assert lines[0].split()[:3] == ["id", "reference", "e-mail"]
    assert lines[-1] == "2 of 2"
    data = desk.run("customer", "show", "acme", "-o", "json").json()
    assert (data["object"], data["reference"], data["open_invoices"]) == ("customer", "acme", 2)
    assert "Invoices    2 open" in desk.table("customer", "show", data["id"])
    assert desk.run("customer", "show", "nobody").code == 4


def test_money_that_was_short_is_no_decline_and_no_operators_collect(
    desk: Desk, tmp_path: Path
) -> None:
    desk.take_in(tmp_path)
    desk.sql(
        "UPDATE anchorhold.invoice SET payment_status = 'failed', collection = 'manual',"
        " amount_paid = 5000 WHERE reference = 'R-1'"
    )
    lines = desk.table("invoice", "show", "R-1")
    assert lines[0].endswith("149.00 EUR  open, needs a person")
    assert "At Stripe   no live PaymentIntent" in lines
    assert "Next        a person settles what its notice says" in lines


def test_two_attempts_without_a_trace_are_no_decline(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    desk.sql("UPDATE anchorhold.invoice SET payment_status = 'failed' WHERE reference = 'R-1'")
    lines = desk.table("invoice", "show", "R-1")
    assert lines[0].endswith("149.00 EUR  open, no charge found")
    assert "Next        an operator collects" in lines

"""Webhooks at the command line: endpoints, deliveries, and whose signature is believed."""

import io
import sys
from pathlib import Path

import pytest

from tests.cli.desk import Desk

URL = "https://example.com/hook"


def added(desk: Desk, *flags: str) -> dict[str, str]:
    ran = desk.run("webhook", "add", URL, *flags, "-o", "json")
    assert ran.code == 0, ran
    made: dict[str, str] = ran.json()
    return made


def told(desk: Desk, folder: Path, invoice: str = "R-1") -> None:
    """One message waits for the endpoint."""
    desk.take_in(folder)
    desk.sql(
        """
        WITH message AS (
            INSERT INTO anchorhold.message
                   (account_id, livemode, id, type, invoice_id, sequence, data, at)
            SELECT account_id, livemode, 'msg_1', 'invoice.paid', id, 1, '{}', now()
              FROM anchorhold.invoice WHERE reference = %s
            RETURNING *
        )
        INSERT INTO anchorhold.webhook_delivery (account_id, livemode, id, endpoint_id, message_id)
        SELECT m.account_id, m.livemode, 'dlv_01M8QDCDCQQQ2WQREHQP1D0WAN', e.id, m.id
          FROM message m, anchorhold.webhook_endpoint e
        """,
        invoice,
    )


def test_an_endpoint_is_added_and_its_secret_shown_once(desk: Desk) -> None:
    made = added(desk, "--type", "invoice.paid")
    assert made["secret"].startswith("whsec_")
    (row,) = desk.run("webhook", "list", "-o", "ndjson").ndjson()
    assert (row["url"], row["types"]) == (URL, ["invoice.paid"])
    assert made["secret"] not in str(row)


@pytest.mark.parametrize(("arguments", "code", "exit_"), [
    (("add", URL, "--type", "invoice.piad"), "message_type_unknown", 2),
    (("add", "ftp://example.com"), "endpoint_url_invalid", 2),
    (("add", "http://example.com", "--live"), "endpoint_url_invalid", 2),
    (("rotate", "whe_nobody"), "endpoint_not_found", 4),
    (("test", "whe_nobody"), "endpoint_not_found", 4),
    (("resend", "dlv_01M8QDCDCQQQ2WQREHQP1D0WAN"), "delivery_not_resent", 3),
    (("resend", "dlv_1"), "id_malformed", 2),
])  # fmt: skip
def test_what_is_wrong_is_refused(
    arguments: tuple[str, ...], code: str, exit_: int, desk: Desk
) -> None:
    ran = desk.run("webhook", *arguments)
    assert (ran.code, f"[{code}]" in ran.err) == (exit_, True), ran


def test_a_url_has_one_endpoint(desk: Desk) -> None:
    added(desk)
    assert "[endpoint_exists]" in desk.run("webhook", "add", URL).err


def test_a_secret_is_rotated_and_not_twice_at_once(desk: Desk) -> None:
    made = added(desk)
    ran = desk.run("webhook", "rotate", made["id"], "-o", "json")
    assert ran.json()["secret"] != made["secret"]
    assert ran.json()["old_secret_until"]
    assert "[secret_overlaps]" in desk.run("webhook", "rotate", made["id"]).err


def test_a_test_says_what_came_back(desk: Desk) -> None:
    desk.run("webhook", "add", "http://127.0.0.1:9/")
    ran = desk.run("webhook", "test", "http://127.0.0.1:9/", "-o", "json")
    assert (ran.json()["said"], ran.json()["rule"]) == ("private_address", "O8")


def test_deliveries_are_listed_and_sent_again(desk: Desk, tmp_path: Path) -> None:
    added(desk)
    told(desk, tmp_path)
    (row,) = desk.run("webhook", "deliveries", "--state", "waiting", "-o", "ndjson").ndjson()
    assert (row["type"], row["tries"], row["state"]) == ("invoice.paid", 0, "waiting")
    assert "invoice.paid" in "".join(desk.table("webhook", "deliveries"))
    desk.sql("UPDATE anchorhold.webhook_delivery SET state = 'failed', ended_at = now()")
    assert desk.run("webhook", "resend", row["id"]).code == 0
    (again,) = desk.run("webhook", "deliveries", "-o", "ndjson").ndjson()
    assert again["state"] == "waiting"


def test_an_endpoint_that_was_off_is_switched_on_and_hears_what_it_missed(
    desk: Desk, tmp_path: Path
) -> None:
    made = added(desk)
    told(desk, tmp_path)
    desk.sql("UPDATE anchorhold.webhook_endpoint SET disabled_at = now(), disabled_reason = '410'")
    replay = ("webhook", "replay", made["id"], "--since", "2020-01-01")
    assert "[endpoint_disabled]" in desk.run(*replay).err
    assert desk.run("webhook", "enable", made["id"]).code == 0
    assert "1 message is on its way" in desk.run(*replay).err


def test_an_endpoint_is_removed_with_what_waits_for_it(desk: Desk, tmp_path: Path) -> None:
    made = added(desk)
    told(desk, tmp_path)
    assert desk.run("webhook", "remove", made["id"]).code != 0, "nobody said yes"
    assert desk.run("webhook", "remove", made["id"], "--yes").code == 0
    assert desk.run("webhook", "list", "-o", "ids").out == ""
    (row,) = desk.run("webhook", "deliveries", "-o", "ndjson").ndjson()
    assert row["state"] == "dropped"


def test_what_stripe_signs_with_a_secret_is_believed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("whsec_0123456789abcdef\n"))
    ran = desk.run("event", "secret", "-o", "json")
    assert ran.code == 0, ran
    assert desk.sql("SELECT last4 FROM anchorhold.signing_secret") == [("cdef",)]


@pytest.mark.parametrize(("given", "flags", "code"), [
    ("sk_test_0123456789", (), "signing_secret_invalid"),
    ("", (), "signing_secret_invalid"),
    ("whsec_0123456789abcdef", ("--live",), "mode_not_connected"),
])  # fmt: skip
def test_no_other_secret_is_believed(
    given: str, flags: tuple[str, ...], code: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    ran = desk.run("event", "secret", *flags)
    assert f"[{code}]" in ran.err
    assert given not in ran.err or not given

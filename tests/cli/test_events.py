"""What Stripe told at the command line: worked again, and how it came in."""

from pathlib import Path

import pytest

from anchorhold.stripe.api import API_VERSION
from tests.cli.desk import Desk


@pytest.fixture
def told(desk: Desk, tmp_path: Path) -> str:
    """The id of an event that said that R-1 was paid, and had its effect."""
    desk.take_in(tmp_path)
    assert desk.run("invoice", "collect", "R-1", "--yes").code == 0
    assert desk.run("tick").code == 0
    (event,) = desk.run("event", "list", "--invoice", "R-1").ndjson()
    return str(event["id"])


def delivery(desk: Desk, id_: str, verdict: str, account: str | None = None) -> None:
    """A delivery came in just now; to an account that does not exist unless told otherwise."""
    scope = desk.scope()
    believed = verdict in {"good", "repeat"}
    desk.sql(
        "INSERT INTO anchorhold.event_delivery (account_id, livemode, id, verdict, signature,"
        " secret_id, event_id, event_type, age_s, bytes, source)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 900, '203.0.113.9')",
        account or scope.account_id, scope.livemode, id_, verdict,
        "valid" if believed else "missing", *(["sgn_1", "evt_1", "x", 2] if believed
                                               else [None] * 4),
    )  # fmt: skip


def test_an_event_is_worked_again_and_changes_nothing(desk: Desk, told: str) -> None:
    before = desk.sql("SELECT * FROM anchorhold.payment")
    ran = desk.run("event", "replay", told, "--output", "json").json()
    assert (ran["events"], ran["by_rule"]) == (1, {"N1": 1})
    assert desk.sql("SELECT * FROM anchorhold.payment") == before


def test_what_was_missed_is_made_up_for_by_a_range(desk: Desk, told: str) -> None:
    desk.sql("DELETE FROM anchorhold.notice; DELETE FROM anchorhold.payment")
    desk.sql("UPDATE anchorhold.invoice SET status = 'open', payment_status = 'pending',"
             " amount_paid = 0, paid_at = NULL WHERE status = 'paid'")  # fmt: skip
    lines = desk.table("event", "replay", "--from", "2020-01-01", "--to", "2099-01-01")
    assert lines[0].split(maxsplit=1) == ["Events", "1 was worked again"]
    assert "money arrived" in lines[1]
    assert desk.sql("SELECT count(*) FROM anchorhold.payment") == [(1,)]
    nothing = desk.run("event", "replay", "--from", "2020-01-01", "--to", "2020-01-02")
    assert nothing.ndjson()[0]["events"] == 0
    assert told


def test_neither_an_event_nor_a_time_is_wrong_usage(desk: Desk) -> None:
    assert desk.run("event", "replay").code == 2
    assert desk.run("event", "replay", "evt_1", "--from", "2020-01-01").code == 2
    ran = desk.run("event", "replay", "evt_none")
    assert (ran.code, "[event_not_found]" in ran.err) == (4, True)


def test_deliveries_are_listed_with_their_verdicts_and_filtered(desk: Desk) -> None:
    assert desk.table("event", "deliveries") == ["Nothing came in yet."]
    for number, verdict in enumerate(("good", "repeat", "forged", "unsigned")):
        delivery(desk, f"edl_{number}", verdict)
    rows = desk.run("event", "deliveries").ndjson()
    assert [row["verdict"] for row in rows] == ["unsigned", "forged", "repeat", "good"]
    assert rows[-1]["object"] == "event_delivery"
    page = desk.run("event", "deliveries", "--limit", "1", "--starting-after", "edl_2").ndjson()
    assert [row["id"] for row in page] == ["edl_1"]
    for flags, ids in (
        (["--verdict", "forged"], ["edl_2"]),
        (["--verdict", "repeat"], ["edl_1"]),
        (["--event", "evt_1"], ["edl_1", "edl_0"]),
    ):
        assert [row["id"] for row in desk.run("event", "deliveries", *flags).ndjson()] == ids
    assert desk.table("event", "deliveries", "--event", "evt_9") == ["No deliveries fit."]


def test_what_came_for_nobody_is_seen_when_asked_for(desk: Desk) -> None:
    delivery(desk, "edl_1", "unknown_account", "unknown")
    assert desk.run("event", "deliveries").ndjson() == []
    (row,) = desk.run("event", "deliveries", "--unknown-account").ndjson()
    assert row["source"] == "203.0.113.9"


def test_a_tick_prunes_old_deliveries_and_those_of_strangers_sooner(desk: Desk) -> None:
    ages = {"edl_1": ("good", 29), "edl_2": ("good", 31), "edl_3": ("forged", 6),
            "edl_4": ("forged", 8)}  # fmt: skip
    for id_, (verdict, days) in ages.items():
        delivery(desk, id_, verdict)
        desk.sql("UPDATE anchorhold.event_delivery SET received_at = now()"
                 " - make_interval(days => %s) WHERE id = %s", days, id_)  # fmt: skip
    delivery(desk, "edl_9", "unknown_account", "unknown")
    desk.sql("UPDATE anchorhold.event_delivery SET received_at = now() - interval '9 days'"
             " WHERE account_id = 'unknown'")  # fmt: skip
    assert desk.run("tick", "--dry-run").code == 0
    assert len(desk.sql("SELECT id FROM anchorhold.event_delivery")) == 5
    assert desk.run("tick").code == 0
    left = desk.sql("SELECT id FROM anchorhold.event_delivery ORDER BY id")
    assert [id_ for (id_,) in left] == ["edl_1", "edl_3"]


def test_a_doctor_compares_the_version_of_stripes_endpoint_with_ours(desk: Desk) -> None:
    def finding() -> tuple[str, str]:
        findings = desk.run("doctor", "-o", "json").json()["findings"]
        (row,) = [row for row in findings if row["id"] == "webhooks"]
        return row["level"], row["sentence"]

    assert finding()[0] == "ok"
    delivery(desk, "edl_1", "good")
    desk.sql("UPDATE anchorhold.event_delivery SET api_version = '2020-08-27'")
    level, sentence = finding()
    assert (level, "sends API version 2020-08-27, not 2026-10-28.endive" in sentence) == (
        "warning",
        True,
    )
    delivery(desk, "edl_2", "good")
    desk.sql(
        "UPDATE anchorhold.event_delivery SET api_version = %s WHERE id = 'edl_2'", API_VERSION
    )
    assert finding()[0] == "ok"

"""Commands that work for a while: one pass, a tick, a twin, and everything at once."""

import os
import re
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from anchorhold import postgres
from anchorhold.cli.twin import new_seed
from anchorhold.twin import ACCOUNT, account_of
from anchorhold.twin.server import TwinServer
from tests.cli.desk import CSV, PROGRAM, Desk, program, url_of


@contextmanager
def running(*words: str, env: dict[str, str]) -> Generator[subprocess.Popen[str]]:
    """The program, at work; told to end at the end."""
    base = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    with subprocess.Popen(
        [PROGRAM, *words],
        env={**base, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.communicate(timeout=30)


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The first line on stdout that says this."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"it ended without saying {words}")


def test_up_starts_everything_charges_and_stops_at_ctrl_c(tmp_path: Path) -> None:
    data = tmp_path / "data"
    env = {"ANCHORHOLD_DATA_DIR": str(data), "ANCHORHOLD_LISTEN": "127.0.0.1:0"}
    try:
        with running("up", "--twin-port", "0", "--output", "table", env=env) as process:
            health = line_with(process, "Health").split()[1]
            twin = line_with(process, "Elsewhere").partition("=")[2].strip()
            line_with(process, "Next")
            with urlopen(health) as answer:
                assert answer.status == 200
            env["ANCHORHOLD_STRIPE_API_BASE"] = twin
            file = tmp_path / "invoices.csv"
            file.write_text(CSV)
            assert program("doctor", env=env).code == 0
            assert program("invoice", "import", str(file), env=env).code == 0
            paid = wait_for_payments(process, env, 2)
            assert len(paid) == 2
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
            assert process.returncode == 0, err
            assert "worker.stopped" in err
    finally:
        postgres.stop(data / "postgres")


def wait_for_payments(process: subprocess.Popen[str], env: dict[str, str], count: int) -> list[str]:
    """The ids of the payments, as soon as there are so many; the worker says when it charged."""
    assert process.stderr is not None
    for line in process.stderr:
        if '"collect.done"' in line:
            paid = program("payment", "list", "--output", "ids", env=env).lines
            if len(paid) >= count:
                return paid
    raise AssertionError("it ended before it charged")


def test_a_twin_listens_and_stops(tmp_path: Path) -> None:
    del tmp_path
    with running("twin", "--port", "0", "--seed", "7", env={}) as process:
        url = re.search(r"http://[\d.]+:\d+", line_with(process, "Stripe twin at"))
        assert url is not None
        with urlopen(f"{url[0]}/_twin/ledger") as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        assert process.returncode == 0


@pytest.mark.parametrize("rule", ["dropped 2%", "dropped_after", "dropped_after x", "late 200%"])
def test_a_fault_rule_that_cannot_be_read_is_refused(rule: str, bare: Desk) -> None:
    ran = bare.run("twin", "--port", "0", "--fault", rule)
    assert ran.code == 2
    assert f"'{rule}' is not a fault rule" in ran.err


def test_an_api_version_that_there_cannot_be_is_refused(bare: Desk) -> None:
    ran = bare.run("twin", "--port", "0", "--api-version", "newest")
    assert ran.code == 2
    assert "'newest' is no API version such as 2026-08-26.dahlia" in ran.err


def test_one_pass_charges_what_is_due_and_counts_it(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    account = desk.scope().account_id
    (row,) = desk.run("worker", "--once").ndjson()
    assert (row["object"], row["claimed"], row["charged"]) == ("pass", 2, {"settle": 2})
    assert desk.table("worker", "--once") == [f"{account} (test mode): 0 checks, 0 charges"]


def test_a_dry_tick_counts_what_is_due_and_a_tick_does_it(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    desk.claim("R-1", ended="42 minutes")
    account = desk.scope().account_id
    assert desk.table("tick", "--dry-run") == [
        f"{account} (test mode): would check 1 holds and 0 followed intents"
    ]
    (row,) = desk.run("tick", "--account", "default", "-o", "json").json()["data"]
    assert (row["checks"], row["checks_by_rule"]) == (1, {"S8": 1})
    assert desk.run("tick", "--dry-run").ndjson()[0]["checks"] == 0


def test_each_twin_of_the_program_is_a_stripe_account_of_its_own() -> None:
    """A twin forgets all: what an earlier one made must not be looked for in the next."""
    assert account_of(new_seed()) != account_of(new_seed())


UNSAFE = {"fsync is off", "full_page_writes is off"}
"""What is wrong with the tests' own server, which may lose everything."""


def test_a_doctor_says_of_each_check_how_it_went(desk: Desk) -> None:
    ran = desk.run("doctor", "-o", "table")
    assert ran.code == 6
    assert ran.lines[-1] == "14 checks, 2 findings"
    assert any(line.endswith(f"account {ACCOUNT}") for line in ran.lines)
    data = desk.run("doctor", "-o", "json").json()
    assert data["healthy"] is False
    wrong = {row["sentence"] for row in data["findings"] if row["level"] != "ok"}
    assert wrong == UNSAFE


@pytest.mark.parametrize(
    ("variable", "value", "check", "words"),
    [
        ("ANCHORHOLD_HOLD_SECONDS", "10", "timing", "T5"),
        ("ANCHORHOLD_LISTEN", "x", "settings", "ANCHORHOLD_LISTEN"),
        ("ANCHORHOLD_DATABASE_URL", "postgresql://127.0.0.1:1/x", "database", "cannot be reached"),
        ("ANCHORHOLD_STRIPE_API_BASE", "http://127.0.0.1:1", "Stripe key", "cannot be reached"),
        ("ANCHORHOLD_SECRET_KEY", "A" * 43 + "=", "Stripe key", "cannot be opened"),
    ],
)
def test_a_doctor_names_what_is_wrong_with_the_next_step(
    variable: str, value: str, check: str, words: str, desk: Desk
) -> None:
    desk.monkeypatch.setenv(variable, value)
    ran = desk.run("doctor", "-o", "json")
    assert ran.code == 6
    wrong = [row for row in ran.json()["findings"] if row["level"] != "ok"]
    (found,) = [row for row in wrong if row["sentence"] not in UNSAFE]
    assert found["id"] == check
    assert words in found["sentence"]
    assert found["next_step"]


def test_a_doctor_says_that_stripe_refused_what_the_key_was_used_for(desk: Desk) -> None:
    desk.sql(
        "UPDATE anchorhold.connection SET refused_at = clock_timestamp(),"
        " refused_reason = 'it may not confirm'"
    )
    ran = desk.run("doctor", "-o", "json")
    (key,) = [row for row in ran.json()["findings"] if row["id"] == "Stripe key"]
    assert (ran.code, key["level"]) == (6, "refused")
    assert "nothing is charged" in key["sentence"]
    assert "it may not confirm" in key["sentence"]
    assert "anchorhold account check" in key["next_step"]


def test_a_doctor_finds_a_missing_index(desk: Desk, fresh_database: str, twin: TwinServer) -> None:
    del twin
    desk.conninfo = fresh_database
    desk.monkeypatch.setenv("ANCHORHOLD_DATABASE_URL", url_of(fresh_database))
    desk.sql("DROP INDEX anchorhold.attempt_one_charge")
    ran = desk.run("doctor", "-o", "table")
    assert ran.code == 6
    assert "refused  schema       attempt_one_charge is missing" in ran.lines
    ran = desk.run("db", "validate", "-o", "json")
    assert (ran.code, ran.json()["faults"]) == (6, ["attempt_one_charge is missing"])


def test_the_schema_is_brought_up_once(desk: Desk, fresh_database: str) -> None:
    desk.conninfo = fresh_database
    desk.monkeypatch.setenv("ANCHORHOLD_DATABASE_URL", url_of(fresh_database))
    desk.sql("DROP SCHEMA anchorhold CASCADE")
    assert desk.table("db", "status")[0].startswith("schema none, this version needs")
    assert desk.table("db", "up", "--dry-run")[0].startswith("would run 0001")
    assert desk.table("db", "up")[0].startswith("ran 0001")
    assert desk.table("db", "up")[0].startswith("nothing to be done")
    assert desk.table("db", "validate") == ["the schema is whole"]


def test_the_printed_sql_makes_the_same_schema(desk: Desk, fresh_database: str) -> None:
    desk.conninfo = fresh_database
    desk.monkeypatch.setenv("ANCHORHOLD_DATABASE_URL", url_of(fresh_database))
    desk.sql("DROP SCHEMA anchorhold CASCADE")
    desk.sql(desk.run("db", "sql").out)
    assert desk.table("db", "status")[1] == "nothing to be done"
    assert desk.table("db", "validate") == ["the schema is whole"]


def test_rules_are_the_tables_that_decide(bare: Desk) -> None:
    everything = bare.run("rules").ndjson()
    assert {row["table"] for row in everything} == {
        "access", "closing", "declines", "disputes", "dunning", "final_action", "follow", "news",
        "notices",
        "outcome", "prepare", "recover", "refund", "refusals", "sweep", "timing", "watch",
    }  # fmt: skip
    assert bare.table("rules", "S7")[2:4] == [
        "S7  the own attempt's decline; invoice open  →  save the decline; clear",
        "    the bank said no to this very attempt",
    ]
    assert bare.run("rules", "S99").code == 4

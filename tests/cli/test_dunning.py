"""Dunning at the command line: policies, runs, a person's hand on one."""

from pathlib import Path

import pytest

from tests.cli.desk import CSV, Desk

GENTLE = ("dunning", "policy", "create", "gentle", "--waits", "1d,3d,12h")


@pytest.fixture
def shop(desk: Desk, tmp_path: Path) -> Desk:
    """R-1 was declined once, and the account has a policy."""
    desk.take_in(tmp_path, CSV.replace("pm_card_visa", "pm_card_chargeCustomerFail", 1))
    assert desk.run("invoice", "collect", "R-1", "--yes").code == 3
    assert desk.run(*GENTLE, "--at", "09:00", "--zone", "Europe/Berlin").code == 0
    assert desk.run("dunning", "policy", "assign", "gentle").code == 0
    assert desk.run("tick").code == 0
    return desk


def test_a_policy_is_shown_as_it_was_written(desk: Desk, tmp_path: Path) -> None:
    desk.take_in(tmp_path)
    made = desk.run(*GENTLE, "--final-action", "cancel", "--output", "json").json()
    assert (made["waits_hours"], made["final_action"]) == ([24, 72, 12], "cancel")
    assert desk.table("dunning", "policy", "show", "gentle")[1:3] == [
        "Retries     after 1d,3d,12h, any time",
        "Then        cancel: the subscription ends and nobody asks for its debt any more",
    ]
    assert "nobody yet" in desk.table("dunning", "policy", "list")[1]
    assert desk.run("dunning", "policy", "assign", "gentle", "--customer", "acme").code == 0
    assert "1 named" in desk.table("dunning", "policy", "list")[1]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("create", "x", "--waits", "soon"), 2, "'soon' is no wait"),
        (("create", "x", "--waits", "1d,1d,1d,1d,1d,1d,1d,1d"), 2, "8 waits"),
        (("create", "x", "--waits", "9999d"), 2, "longer than 90 days"),
        (("create", "x", "--waits", "1d", "--at", "25:00"), 2, "no time of day"),
        (("create", "x", "--waits", "1d", "--zone", "Mars/Olympus"), 2, "no time zone"),
        (("show", "nobody"), 4, "There is no dunning policy nobody"),
        (("assign", "nobody"), 4, "There is no dunning policy nobody"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_reason(
    desk: Desk, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    desk.take_in(tmp_path)
    ran = desk.run("dunning", "policy", *words)
    assert (ran.code, said in ran.err) == (code, True), ran.err


def test_a_name_belongs_to_one_policy(shop: Desk) -> None:
    ran = shop.run(*GENTLE)
    assert (ran.code, "[dunning_policy_exists]" in ran.err) == (3, True)


def test_a_run_says_what_comes_next_and_why(shop: Desk) -> None:
    lines = shop.table("dunning", "list")
    assert "R-1" in lines[1]
    assert "a retry in" in lines[1]
    shown = shop.table("dunning", "show", "R-1")
    assert shown[-2:-1] == ["Because     it may succeed later (Y9)"]
    run = shop.run("dunning", "show", "R-1", "--output", "json").json()
    assert (run["object"], run["next_step"], run["steps"]) == ("dunning_run", "retry", [])
    assert shop.table("dunning", "list", "--ended") == ["No runs."]


def test_a_person_pauses_a_run_and_goes_on_with_it(shop: Desk) -> None:
    act = ("dunning", "pause", "R-1", "--reason", "promised for Friday")
    assert shop.run(*act, "--output", "json").json()["paused_reason"] == "promised for Friday"
    again = shop.run(*act)
    assert (again.code, "[dunning_paused]" in again.err) == (3, True)
    assert "paused: promised for Friday" in shop.table("dunning", "list")[1]
    on = ("dunning", "resume", "R-1", "--reason", "did not pay")
    assert shop.run(*on).code == 0
    assert "[dunning_not_paused]" in shop.run(*on).err
    story = "\n".join(shop.table("invoice", "story", "R-1"))
    assert "its dunning is paused: promised for Friday" in story
    assert "its dunning goes on: did not pay" in story


def test_a_run_that_has_ended_is_neither_paused_nor_hidden(shop: Desk) -> None:
    paid = ("invoice", "paid-elsewhere", "R-1", "--reference", "cash", "--yes")
    assert shop.run(*paid).code == 0
    ran = shop.run("dunning", "pause", "R-1", "--reason", "x")
    assert (ran.code, "recovered" in ran.err) == (3, True)
    assert "recovered" in shop.table("dunning", "list", "--ended")[1]


def test_an_invoice_that_was_not_declined_has_no_run(shop: Desk) -> None:
    ran = shop.run("dunning", "show", "R-3")
    assert (ran.code, "[dunning_not_found]" in ran.err) == (4, True)

"""Prices and subscriptions at the terminal: from nothing to a paid renewal, and every refusal."""

import pytest

from tests.cli.desk import Desk

PLAN = ("--amount", "31.00", "--currency", "eur", "--every", "month")


@pytest.fixture(name="shop")
def _shop(desk: Desk) -> Desk:
    """There is a price by the month."""
    assert desk.run("price", "create", "plan", *PLAN).code == 0
    return desk


def subscribe(shop: Desk, *more: str, reference: str = "acme-plan") -> None:
    ran = shop.run(
        "subscription", "create", reference, "--customer", "acme", "--price", "plan",
        "--payment-method", "pm_card_visa", *more, "--yes",
    )  # fmt: skip
    assert ran.code == 0, ran.err


def status(shop: Desk) -> str:
    return str(shop.run("subscription", "show", "acme-plan", "-o", "json").json()["status"])


def test_a_price_is_made_listed_and_shown(desk: Desk) -> None:
    desk.run("price", "create", "seat", *PLAN[:4], "--every", "3 months", "--per-unit")
    assert any("31.00 EUR a unit every 3 months" in row for row in desk.table("price", "list"))
    shown = desk.run("price", "show", "seat", "-o", "json").json()
    assert (shown["scheme"], shown["interval_count"], shown["billing"]) == (
        "per_unit", 3, "in_advance",
    )  # fmt: skip


def test_a_price_never_changes(shop: Desk) -> None:
    again = shop.run("price", "create", "plan", *PLAN)
    assert (again.code, "price_exists" in again.err) == (3, True)


def test_a_subscription_is_billed_at_once_and_paid_by_the_next_worker(shop: Desk) -> None:
    subscribe(shop)
    assert shop.run("worker", "--once").code == 0
    (invoice,) = shop.run("invoice", "list", "-o", "json").json()["data"]
    assert (invoice["status"], invoice["amount_due"]) == ("paid", 3100)
    assert (invoice["number"], invoice["subscription_id"][:4]) == (1, "sub_")
    shown = shop.table("invoice", "show", invoice["id"])
    assert {"Number      1", "Line        1 x plan  31.00 EUR"} <= set(shown)
    screen = shop.table("subscription", "show", "acme-plan")
    assert "active" in screen[0]
    assert any(row.startswith("Costs       31.00 EUR every month, in advance") for row in screen)


def test_a_dry_run_says_what_would_be_billed_at_once_and_makes_nothing(shop: Desk) -> None:
    ran = shop.run(
        "subscription", "create", "x", "--customer", "acme", "--price", "plan", "--start",
        "2026-11-01", "--dry-run",
    )  # fmt: skip
    assert "periods are billed at once" in ran.err
    assert shop.run("subscription", "list", "-o", "ids").out == ""


def test_a_trial_bills_nothing_before_it_is_over(shop: Desk) -> None:
    subscribe(shop, "--trial-days", "14")
    assert "starts in 13 days" in shop.table("subscription", "show", "acme-plan")[0]
    assert shop.run("invoice", "list", "-o", "ids").out == ""
    told = shop.run("subscription", "renew", "--dry-run", "--on", "2099-01-01", "-o", "json").json()
    assert len(told["data"]) > 12
    assert told["data"][0]["amount"] == 3100


def test_a_start_long_ago_is_billed_up_to_twelve_periods_and_then_by_a_word(shop: Desk) -> None:
    subscribe(shop, "--start", "2025-06-01", "--collection", "manual")
    assert len(shop.run("invoice", "list", "-o", "ids").out.splitlines()) == 12
    assert status(shop) == "paused"
    (notice,) = shop.run("notice", "list", "-o", "json").json()["data"]
    assert notice["code"] == "renewal.behind"
    assert shop.run("subscription", "renew", "acme-plan", "--yes").code == 0
    assert status(shop) == "active"
    assert len(shop.run("invoice", "list", "--all", "-o", "ids").out.splitlines()) > 12


def test_it_is_paused_resumed_and_cancelled(shop: Desk) -> None:
    subscribe(shop)
    why = ("--reason", "moving house", "--yes")
    assert shop.run("subscription", "pause", "acme-plan", *why).code == 0
    assert status(shop) == "paused"
    assert shop.run("subscription", "resume", "acme-plan", "--yes").code == 0
    ends = shop.run("subscription", "cancel", "acme-plan", "--at-period-end", *why)
    assert ends.code == 0
    assert "active, ends in" in shop.table("subscription", "show", "acme-plan")[0]
    assert shop.run("subscription", "cancel", "acme-plan", *why).code == 0
    shown = shop.table("subscription", "show", "acme-plan")
    assert "canceled" in shown[0]
    assert any("moving house" in row for row in shown)


def test_dry_runs_change_nothing(shop: Desk) -> None:
    subscribe(shop)
    for act in ("pause", "cancel"):
        ran = shop.run("subscription", act, "acme-plan", "--reason", "x", "--dry-run")
        assert (ran.code, ran.err.startswith("would ")) == (0, True)
    assert status(shop) == "active"


def test_a_tick_bills_what_is_due(shop: Desk) -> None:
    subscribe(shop, "--trial-days", "1")
    shop.sql(
        """
        UPDATE anchorhold.subscription
           SET anchor = anchor - interval '2 days', starts_at = starts_at - interval '2 days',
               next_at = next_at - interval '2 days', look_at = look_at - interval '2 days'
        """
    )
    (told,) = shop.run("tick", "-o", "json").json()["data"]
    assert (told["periods_billed"], told["renewals_failed"]) == (1, 0)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("price", "show", "none"), 4, "price_not_found"),
        (("subscription", "show", "none"), 4, "subscription_not_found"),
        (("price", "create", "x", *PLAN[:4], "--every", "day"), 2, "interval_malformed"),
        (("subscription", "create", "x", "--customer", "c", "--price", "p:0"), 2, "quantity_inv"),
        (("subscription", "create", "x", "--customer", "c", "--price", "p:x"), 2, "quantity_inv"),
        (
            ("subscription", "create", "x", "--customer", "c", "--price", "plan", "--zone", "Mars"),
            2,
            "zone_unknown",
        ),
        (("subscription", "pause", "x"), 2, "reason_missing"),
        (("subscription", "renew", "--on", "2027-01-01"), 2, "--dry-run"),
    ],
)
def test_what_does_not_work_says_why(
    shop: Desk, command: tuple[str, ...], code: int, said: str
) -> None:
    ran = shop.run(*command)
    assert (ran.code, said in ran.err) == (code, True), ran.err

"""Accounts: keys come from the environment, a prompt or a pipe, and Stripe is asked first."""

import io
import sys

import pytest

from anchorhold.domain import ids
from anchorhold.twin import ACCOUNT, SECRET_KEY
from anchorhold.twin.server import TwinServer
from tests.cli.desk import Desk


def test_connecting_makes_the_account_and_seals_the_key(bare: Desk) -> None:
    data = bare.connect().ndjson()[0]
    assert (data["name"], data["stripe_account"], data["livemode"]) == ("default", ACCOUNT, False)
    ((sealed, last4),) = bare.sql("SELECT secret_key, key_last4 FROM anchorhold.connection")
    assert SECRET_KEY.encode() not in bytes(sealed)
    assert last4 == SECRET_KEY[-4:]


def test_customers_pay_with_what_was_said_last(bare: Desk) -> None:
    def connects(*options: str) -> list[str]:
        assert bare.run("account", "connect", *options).code == 0
        ((types,),) = bare.sql("SELECT payment_method_types FROM anchorhold.connection")
        return list(types)

    bare.monkeypatch.setenv("ANCHORHOLD_STRIPE_KEY", SECRET_KEY)
    assert connects() == ["card"]
    assert connects("--accept", "card", "--accept", "bacs_debit") == ["card", "bacs_debit"]
    assert connects() == ["card", "bacs_debit"], "a new key changes nothing about it"
    assert bare.run("account", "connect", "--accept", "cash").code == 2


def test_the_key_may_come_from_a_pipe(bare: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{SECRET_KEY}\n"))
    assert bare.run("account", "connect", "acme").code == 0
    assert bare.sql("SELECT name FROM anchorhold.account") == [("acme",)]


@pytest.mark.parametrize(
    ("given", "code"),
    [("\n", "stripe_key_missing"), ("pk_test_twin\n", "settings_invalid")],
)
def test_no_key_and_a_publishable_key_are_refused(
    given: str, code: str, bare: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))
    ran = bare.run("account", "connect")
    assert ran.code == 2
    assert f"[{code}]" in ran.err
    assert bare.sql("SELECT FROM anchorhold.account") == []


def test_a_key_that_stripe_refuses_leaves_nothing_behind(bare: Desk) -> None:
    bare.monkeypatch.setenv("ANCHORHOLD_STRIPE_KEY", "sk_test_of_somebody_else")
    ran = bare.run("account", "connect")
    assert ran.code == 2
    assert "Stripe refused the key (401)" in ran.err
    assert "sk_test_of_somebody_else" not in ran.err
    assert bare.sql("SELECT FROM anchorhold.account") == []


def test_a_stripe_that_cannot_be_reached_leaves_nothing_behind(bare: Desk) -> None:
    bare.monkeypatch.setenv("ANCHORHOLD_STRIPE_KEY", SECRET_KEY)
    bare.monkeypatch.setenv("ANCHORHOLD_STRIPE_API_BASE", "http://127.0.0.1:1")
    ran = bare.run("account", "connect")
    assert ran.code == 5
    assert "[stripe_unreachable]" in ran.err
    assert bare.sql("SELECT FROM anchorhold.account") == []


def test_accounts_are_listed_with_what_of_their_key_may_be_shown(desk: Desk) -> None:
    desk.run("account", "create", "empty")
    head, first, second = desk.table("account", "list")
    assert head.split() == [
        "id", "name", "mode", "stripe", "account", "charges", "key", "Stripe", "says",
    ]  # fmt: skip
    key = f"…{SECRET_KEY[-4:]}"
    assert first.split()[1:] == ["default", "test", ACCOUNT, "prepared", key, "-"]
    assert second.split()[1:] == ["empty", "-", "not", "connected", "prepared", "-", "-"]
    names = [row["name"] for row in desk.run("account", "list", "-o", "json").json()["data"]]
    assert names == ["default", "empty"]


def test_a_name_is_given_once(desk: Desk) -> None:
    ran = desk.run("account", "create")
    assert ran.code == 3
    assert "[account_exists]" in ran.err


def test_a_check_asks_stripe_and_lifts_the_flag(desk: Desk) -> None:
    desk.sql(
        "UPDATE anchorhold.connection SET refused_at = clock_timestamp(), refused_reason = 'no'"
    )
    assert desk.table("account", "check") == [
        f"Stripe accepts the test mode key: account {ACCOUNT}"
    ]
    assert desk.sql("SELECT refused_at FROM anchorhold.connection") == [(None,)]


def test_the_only_account_need_not_be_named(desk: Desk) -> None:
    assert desk.run("invoice", "list").code == 0


def test_several_accounts_are_told_apart_by_name_or_id(desk: Desk) -> None:
    desk.run("account", "create", "other")
    ran = desk.run("invoice", "list")
    assert ran.code == 2
    assert "There are several accounts: default, other. [account_ambiguous]" in ran.err
    ((other,),) = desk.sql("SELECT id FROM anchorhold.account WHERE name = 'other'")
    assert desk.run("invoice", "list", "--account", "other").code == 0
    assert desk.run("invoice", "list", "--account", other).code == 0
    assert desk.run("invoice", "list", "--account", "nobody").code == 4


def test_without_any_account_the_refusal_says_how_to_make_one(bare: Desk) -> None:
    ran = bare.run("invoice", "list")
    assert ran.code == 4
    assert "[account_missing] Make one with `anchorhold account connect`" in ran.err


def test_a_mode_that_is_not_connected_has_no_key(desk: Desk, twin: TwinServer) -> None:
    del twin
    ran = desk.run("account", "check", "--live")
    assert ran.code == 2
    assert "[stripe_key_missing]" in ran.err


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " acme",
        "a\nb",
        "\x1b[31m",
        "a\u202eb",
        "x" * 81,
        ids.make(ids.ACCOUNT, 0, bytes(10)),
    ],
)
@pytest.mark.parametrize("verb", ["create", "connect"])
def test_a_name_that_no_list_could_show_is_wrong_usage(verb: str, name: str, desk: Desk) -> None:
    desk.monkeypatch.setenv("ANCHORHOLD_STRIPE_KEY", SECRET_KEY)
    before = desk.sql("SELECT id FROM anchorhold.account")
    ran = desk.run("account", verb, name)
    assert (ran.code, ran.out) == (2, "")
    assert "[usage]" in ran.err
    assert "\x1b" not in ran.err
    assert desk.sql("SELECT id FROM anchorhold.account") == before


def test_an_account_chooses_how_it_charges(desk: Desk) -> None:
    made = desk.run("account", "set", "--charge-mode", "direct", "-o", "json").json()
    assert (made["charge_mode"], made["sweep_mode"]) == ("direct", "fence")
    desk.run("account", "set", "--sweep-mode", "adr", "--after-presumed-none", "operator")
    shown = desk.run("account", "show", "-o", "json").json()
    assert (shown["charge_mode"], shown["sweep_mode"]) == ("direct", "adr")
    assert shown["after_presumed_none"] == "operator"
    assert "directly" in desk.run("account", "show", "-o", "table").out


@pytest.mark.parametrize("verb", ["set", "create"])
def test_only_direct_accounts_do_without_the_fence(desk: Desk, verb: str) -> None:
    name = "default" if verb == "set" else "acme"
    ran = desk.run("account", verb, name, "--sweep-mode", "adr")
    assert ran.code == 2
    assert "[sweep_mode_needs_direct]" in ran.err
    assert desk.sql("SELECT sweep_mode FROM anchorhold.account") == [("fence",)]


def test_an_account_that_is_not_there_is_not_changed(desk: Desk) -> None:
    ran = desk.run("account", "set", "nobody", "--charge-mode", "direct")
    assert ran.code == 4
    assert "[account_not_found]" in ran.err


def test_an_account_may_begin_directly(bare: Desk) -> None:
    data = bare.run("account", "create", "acme", "--charge-mode", "direct", "-o", "json").json()
    assert data["charge_mode"] == "direct"

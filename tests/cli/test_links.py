"""Links to the payment page from the command line."""

from pathlib import Path

import pytest

from tests.cli.desk import Desk


@pytest.fixture(name="shop")
def _shop(desk: Desk, tmp_path: Path) -> Desk:
    """An account with invoices."""
    desk.connect()
    desk.take_in(tmp_path)
    return desk


def test_a_link_is_made_listed_and_revoked(shop: Desk) -> None:
    made = shop.run("invoice", "link", "R-1", "--days", "7", "--locale", "de", "-o", "json").json()
    assert made["url"].startswith("http://127.0.0.1:8787/pay/")
    assert (made["object"], made["state"], made["locale"]) == ("page_link", "open", "de")
    listed = shop.run("link", "list", "R-1", "-o", "json").json()["data"]
    assert listed == [made], "the same link always has the same address"
    ended = shop.run("link", "revoke", made["id"], "-o", "json").json()
    assert (ended["state"], ended["url"]) == ("revoked", None)
    assert shop.run("link", "revoke", made["id"], "-o", "json").json() == ended


def test_the_table_begins_with_the_address_alone(shop: Desk) -> None:
    first, *rest = shop.table("invoice", "link", "R-1")
    assert first.startswith("http://127.0.0.1:8787/pay/")
    assert any("anchorhold link revoke lnk_" in line for line in rest)


def test_each_call_makes_a_link_of_its_own_and_the_story_tells_it(shop: Desk) -> None:
    ids = {shop.run("invoice", "link", "R-1", "-o", "ids").out for _ in range(2)}
    assert len(ids) == 2
    told = "\n".join(shop.table("invoice", "story", "R-1"))
    assert told.count("to the payment page was made") == 2
    assert len(shop.run("link", "list", "R-1", "-o", "ids").out.split()) == 2


def test_a_link_that_is_not_there(shop: Desk) -> None:
    ran = shop.run("link", "revoke", "lnk_01KZZZZZZZZZZZZZZZZZZZZZZZ")
    assert (ran.code, "link_not_found" in ran.err) == (4, True)
    assert shop.run("link", "revoke", "inv_1").code == 2
    assert shop.run("invoice", "link", "R-404").code == 4


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("sk_test_1", "browsers must never see one"),
        ("pk_live_1", "of the other mode"),
        ("acct_1", "does not begin with pk_"),
        ("pk_test_ 1", "does not begin with pk_"),
    ],
)
def test_a_key_that_is_no_publishable_one_of_the_mode_is_refused(
    key: str, words: str, shop: Desk
) -> None:
    ran = shop.run("account", "page", "--publishable-key", key)
    assert (ran.code, words in ran.err, "publishable_key_invalid" in ran.err) == (2, True, True)
    assert key not in ran.err or key.startswith("acct")


def test_what_the_page_says_of_the_business_is_set_piece_by_piece(shop: Desk) -> None:
    before = shop.sql("SELECT publishable_key FROM anchorhold.connection")
    assert str(before[0][0]).startswith("pk_test_"), "a twin's key for browsers is known"
    assert shop.run("account", "page", "--public-name", "Acme GmbH").code == 0
    assert shop.run("account", "page", "--publishable-key", "pk_test_9").code == 0
    row = shop.sql("SELECT publishable_key, public_name FROM anchorhold.connection")
    assert row == [("pk_test_9", "Acme GmbH")]


def test_a_mode_that_is_not_connected_has_no_page(shop: Desk) -> None:
    ran = shop.run("account", "page", "--live", "--public-name", "Acme")
    assert (ran.code, "mode_not_connected" in ran.err) == (3, True)

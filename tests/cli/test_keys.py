"""Keys of the API at the command line."""

from tests.cli.desk import Desk


def test_a_key_is_shown_once_listed_rotated_and_revoked(desk: Desk) -> None:
    made = desk.run("key", "create", "--name", "shop", "-o", "json").json()
    assert made["key"].startswith("sk_test_")
    listed = desk.run("key", "list", "-o", "table")
    assert f"sk_test_…{made['last4']}" in listed.out
    assert made["key"] not in listed.out
    rotated = desk.run("key", "rotate", made["id"], "-o", "json").json()
    assert rotated["key"] != made["key"]
    assert desk.run("key", "rotate", made["id"]).code == 3
    assert desk.run("key", "revoke", rotated["id"], "--yes").code == 0
    again = desk.run("key", "revoke", rotated["id"], "--yes")
    assert (again.code, "key_ended" in again.err) == (3, True)


def test_a_restricted_key_has_its_grants(desk: Desk) -> None:
    made = desk.run("key", "create", "--name", "r", "--grant", "invoices:read", "-o", "json").json()
    assert (made["kind"], made["grants"]) == ("restricted", ["invoices:read"])
    assert desk.run("key", "create", "--name", "r", "--grant", "invoice:read").code == 2


def test_revoking_asks(desk: Desk) -> None:
    made = desk.run("key", "create", "--name", "shop", "-o", "json").json()
    ran = desk.run("key", "revoke", made["id"])
    assert ran.code == 2
    assert "confirmation_missing" in ran.err

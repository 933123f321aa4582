"""No route shows, changes or admits that there is anything of another account or mode."""

from typing import Any

import pytest

from anchorhold.domain.ids import ACCOUNT, AccountId
from anchorhold.domain.scope import Scope
from anchorhold.entropy import new_id
from anchorhold.store import accounts
from anchorhold.store.accounts import NewConnection
from anchorhold.twin.world import ACCOUNT as STRIPE_ACCOUNT
from tests.api.desk import Desk

BODIES: dict[str, dict[str, object]] = {
    "void": {"reason": "x"},
    "write_off": {"reason": "x"},
    "paid_elsewhere": {"reference": "x"},
    "amend": {"reason": "x", "amount": 1},
    "rotate": {"hours": 1},
    "resolve": {"resolution": "x"},
}
WITHOUT_ID = {"/account", "/errors/{code}", "/openapi.json"}


async def everything(desk: Desk) -> dict[str, str]:
    """One of each object, by the name that its routes have for it."""
    world = desk.world
    invoice = await world.invoice(reference="R-1")
    await world.charge_due()
    await desk.post("/webhook_endpoints", {"url": "https://example.com/hook"})
    payment = (await desk.get("/payments")).body["data"][0]["id"]
    refund = {"payment": payment, "amount": 1, "reason": "x"}
    made = await desk.post("/refunds", refund, once="r")
    held = await world.invoice(reference="R-2")
    await world.prepare()
    await world.claim_due()
    world.sql(
        "INSERT INTO anchorhold.notice (account_id, livemode, id, code, subject, evidence)"
        " VALUES (%s, false, 'ntc_1', 'collection.blocked', 's', '{}')",
        world.scope.account_id,
    )
    return {
        "invoice": held,
        "customer": (await desk.get(f"/invoices/{invoice}")).body["customer_id"],
        "attempt": (await desk.get("/attempts")).body["data"][0]["id"],
        "payment": payment,
        "refund_id": made.body["id"],
        "event": "evt_1",
        "endpoint": (await desk.get("/webhook_endpoints")).body["data"][0]["id"],
        "delivery": "dlv_" + "1" * 26,
        "notice": "ntc_1",
    }


async def stranger(desk: Desk, *, livemode: bool) -> str:
    """The key of another account, or of the other mode of ours."""
    if livemode:
        return await desk.key(Scope(desk.world.scope.account_id, livemode=True))
    account = AccountId(new_id(ACCOUNT))
    await accounts.create(desk.world.pool, account, "another")
    scope = Scope(account, livemode=False)
    await accounts.connect(
        desk.world.pool, scope, NewConnection(STRIPE_ACCOUNT, b"sealed", "1234", "fingerprint")
    )
    return await desk.key(scope)


@pytest.mark.parametrize("livemode", [False, True], ids=["another account", "the other mode"])
async def test_every_route_with_an_id_finds_nothing_of_ours(desk: Desk, livemode: bool) -> None:
    ids = await everything(desk)
    key = await stranger(desk, livemode=livemode)
    before = rows(desk)
    for method, path in routes((await desk.get("/openapi.json")).body):
        name = path.partition("{")[2].partition("}")[0]
        if path in WITHOUT_ID or not name:
            continue
        body = BODIES.get(path.rpartition("/")[2]) if method == "POST" else None
        asked = path.replace(f"{{{name}}}", ids[name])
        got = await desk.ask(method, asked, body, key=key, once=f"{method}{path}")
        refused = {404, 409} if "deliveries" in path else {404}
        assert got.status in refused, (method, path, got.text)
    assert rows(desk) == before


@pytest.mark.parametrize("livemode", [False, True], ids=["another account", "the other mode"])
async def test_every_list_is_empty(desk: Desk, livemode: bool) -> None:
    ids = await everything(desk)
    key = await stranger(desk, livemode=livemode)
    for method, path in routes((await desk.get("/openapi.json")).body):
        if method != "GET" or "{" in path or path in WITHOUT_ID or path == "/refunds":
            continue
        ours = (await desk.get(path)).body["data"]
        got = await desk.get(path, key=key)
        assert got.body["data"] == [], path
        assert ours or path in {"/events", "/webhook_deliveries"}, path
    got = await desk.get(f"/refunds?payment={ids['payment']}", key=key)
    assert (got.status, got.code) == (404, "payment_not_found")


async def test_a_filter_by_a_strangers_id_finds_nothing(desk: Desk) -> None:
    ids = await everything(desk)
    key = await stranger(desk, livemode=False)
    for path, name in (("/invoices?customer=", "customer"), ("/payments?invoice=", "invoice")):
        assert (await desk.get(path + ids[name], key=key)).status == 404


async def test_two_accounts_may_use_one_idempotency_key(desk: Desk) -> None:
    key = await stranger(desk, livemode=False)
    body = {"reference": "acme"}
    ours = await desk.post("/customers", body, once="one")
    theirs = await desk.post("/customers", body, once="one", key=key)
    assert ours.body["account_id"] != theirs.body["account_id"]


def routes(document: Any) -> list[tuple[str, str]]:
    """Method and path of every route."""
    return [(method.upper(), path) for path, item in document["paths"].items() for method in item]


def rows(desk: Desk) -> list[Any]:
    """Everything that a stranger could have changed."""
    tables = ("invoice", "customer", "refund", "notice", "webhook_endpoint", "journal")
    return [
        desk.world.sql(f"SELECT t::text FROM anchorhold.{table} t ORDER BY 1") for table in tables
    ]

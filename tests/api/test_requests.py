"""What a program meets when it asks: objects, lists, errors, and repeated requests."""

import asyncio
from datetime import datetime
from typing import Any

import pytest

from anchorhold.web.api import once
from tests.api.desk import Desk

INVOICE = {"customer": "acme", "amount": 14900, "currency": "eur", "reference": "R-1",
           "due_at": "2099-01-01T00:00:00Z", "payment_method": "pm_card_visa"}  # fmt: skip


async def test_an_invoice_is_taken_in_and_read_by_id_and_reference(desk: Desk) -> None:
    made = await desk.post("/invoices", INVOICE)
    assert made.status == 200
    assert made.body["object"] == "invoice"
    assert made.body["livemode"] is False
    for name in (made.body["id"], "R-1"):
        assert (await desk.get(f"/invoices/{name}")).body == made.body


async def test_the_same_reference_is_the_same_invoice_or_refused(desk: Desk) -> None:
    first = await desk.post("/invoices", INVOICE)
    assert (await desk.post("/invoices", INVOICE)).body["id"] == first.body["id"]
    got = await desk.post("/invoices", {**INVOICE, "amount": 1500})
    assert (got.status, got.code) == (409, "invoice_differs")


async def test_collecting_takes_the_money_once_and_says_so(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE)
    got = await desk.post("/invoices/R-1/collect", once="a")
    assert (got.status, got.body["collect"], got.body["status"]) == (200, "paid", "paid")
    again = await desk.post("/invoices/R-1/collect", once="a")
    assert again.text == got.text
    assert again.headers["idempotent-replayed"] == "true"
    assert (await desk.post("/invoices/R-1/collect", once="b")).code == "invoice_not_open"
    assert sum(desk.world.paid_at_stripe().values()) == 1


async def test_a_decline_is_402_and_is_kept_as_the_answer(desk: Desk) -> None:
    body = {**INVOICE, "payment_method": "pm_card_chargeCustomerFail"}
    await desk.post("/invoices", body)
    got = await desk.post("/invoices/R-1/collect", once="a")
    assert (got.status, got.code) == (402, "payment_declined")
    assert got.body["error"]["type"] == "card_error"
    assert (await desk.post("/invoices/R-1/collect", once="a")).text == got.text


async def test_moving_money_needs_an_idempotency_key(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE)
    got = await desk.post("/invoices/R-1/collect")
    assert (got.status, got.code) == (400, "idempotency_key_required")


@pytest.mark.parametrize("key", ["", "x" * 256, "two words", "schlüssel"])
async def test_a_key_that_cannot_be_one_is_refused(desk: Desk, key: str) -> None:
    if key.isascii():
        assert (await desk.post("/invoices", INVOICE, once=key)).code == "idempotency_key_invalid"


async def test_a_key_with_another_request_is_refused(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE, once="a")
    got = await desk.post("/invoices", {**INVOICE, "amount": 1500}, once="a")
    assert (got.status, got.code) == (422, "idempotency_key_reused")
    assert (await desk.post("/customers", {"reference": "x"}, once="a")).status == 422


async def test_a_refused_request_leaves_its_key_as_if_it_was_never_sent(desk: Desk) -> None:
    got = await desk.post("/invoices", {**INVOICE, "customer": "cus_" + "1" * 26}, once="a")
    assert (got.status, got.code) == (404, "customer_not_found")
    assert (await desk.post("/invoices", INVOICE, once="a")).status == 200


async def test_a_request_that_is_worked_on_is_not_worked_on_twice(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE, once="a")
    desk.world.sql("UPDATE anchorhold.idempotent_request SET status = NULL, body = NULL")
    got = await desk.post("/invoices", INVOICE, once="a")
    assert (got.status, got.code) == (409, "idempotency_key_in_use")
    assert got.headers["retry-after"] == "1"


async def test_a_kept_answer_is_encrypted(desk: Desk) -> None:
    made = await desk.post("/webhook_endpoints", {"url": "https://example.com/x"}, once="a")
    ((body,),) = desk.world.sql("SELECT body FROM anchorhold.idempotent_request")
    assert made.body["secret"].encode() not in bytes(body)


async def test_an_unknown_field_is_refused_with_the_nearest_name(desk: Desk) -> None:
    got = await desk.post("/invoices", {**INVOICE, "amout": 1})
    assert (got.status, got.code) == (400, "field_unknown")
    assert "perhaps amount was meant" in got.body["error"]["message"]
    assert got.body["error"]["param"] == "amout"
    assert (await desk.get("/invoices?statuss=open")).code == "field_unknown"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", 1.5), ("amount", "100"), ("amount", -1), ("amount", True), ("currency", 3),
        ("due_at", "soon"), ("due_at", "2026-01-01T00:00:00"), ("reference", "a\u0000b"),
        ("email", "nobody"), ("payment_method", "4242424242424242"),
    ],
)  # fmt: skip
async def test_a_wrong_field_is_named(desk: Desk, field: str, value: object) -> None:
    got = await desk.post("/invoices", {**INVOICE, field: value})
    assert (got.status, got.code) == (400, "field_invalid")
    assert got.body["error"]["param"] == field


@pytest.mark.parametrize("raw", [b"{", b"[1]", b'"x"', b"\xff"])
async def test_a_body_that_is_no_json_object_is_refused(desk: Desk, raw: bytes) -> None:
    got = await desk.ask("POST", "/invoices", raw=raw)
    assert got.status == 400, got.text


async def test_errors_have_one_form_and_are_explained_to_anybody(desk: Desk) -> None:
    got = await desk.get("/invoices/inv_none")
    error = got.body["error"]
    assert error["type"] == "not_found_error"
    assert error["request_id"] == got.headers["request-id"]
    path = error["doc_url"].partition("/v1")[2]
    told = await desk.get(path, key=None)
    assert told.body["id"] == "invoice_not_found"


async def test_a_refusal_about_a_hold_has_its_facts(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE)
    desk.world.sql("UPDATE anchorhold.invoice SET due_at = now(), next_attempt_at = now()")
    await desk.world.prepare()
    await desk.world.claim_due()
    got = await desk.post("/invoices/R-1/collect", once="a")
    assert (got.status, got.code) == (409, "payment_in_flight")
    assert got.body["error"]["hold"]["state"] == "live"
    assert got.body["error"]["hold"]["next_check_at"]


async def test_the_same_facts_by_rfc_9457(desk: Desk) -> None:
    got = await desk.get("/invoices/inv_none", accept="application/problem+json")
    assert got.headers["content-type"] == "application/problem+json"
    assert got.body["status"] == got.status == 404
    assert got.body["code"] == "invoice_not_found"
    assert got.body["instance"] == got.headers["request-id"]


async def test_what_is_not_there_and_what_is_not_taken(desk: Desk) -> None:
    assert (await desk.get("/nothing")).code == "route_not_found"
    got = await desk.ask("PUT", "/invoices")
    assert (got.status, got.code) == (405, "method_not_allowed")
    assert "GET" in got.headers["allow"]


async def test_a_list_has_pages_and_says_whether_there_are_more(desk: Desk) -> None:
    for n in range(3):
        await desk.post("/invoices", {**INVOICE, "reference": f"R-{n}"})
    first = (await desk.get("/invoices?limit=2")).body
    assert first["has_more"] is True
    assert first["url"] == "/v1/invoices"
    rest = (await desk.get(f"/invoices?limit=2&starting_after={first['data'][1]['id']}")).body
    assert rest["has_more"] is False
    assert [row["reference"] for row in first["data"] + rest["data"]] == ["R-2", "R-1", "R-0"]


async def test_expanding_shows_what_is_within_two_steps(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE)
    await desk.post("/invoices/R-1/collect", once="a")
    got = await desk.get("/invoices/R-1?expand[]=customer&expand[]=payments.refunds")
    assert got.body["customer"]["reference"] == "acme"
    assert got.body["payments"][0]["refunds"] == []
    listed = await desk.get("/invoices?expand[]=data.attempts")
    assert listed.body["data"][0]["attempts"][0]["state"] == "succeeded"
    for wrong in ("custmer", "a.b.c"):
        assert (await desk.get(f"/invoices/R-1?expand[]={wrong}")).code == "field_invalid"
    assert (await desk.get("/invoices?expand[]=customer")).code == "field_invalid"


async def test_a_payment_is_given_back_once(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE)
    await desk.post("/invoices/R-1/collect", once="a")
    (payment,) = (await desk.get("/payments")).body["data"]
    body = {"payment": payment["id"], "amount": 500, "reason": "broken"}
    made = await desk.post("/refunds", body, once="b")
    assert (made.body["object"], made.body["amount"]) == ("refund", 500)
    assert (await desk.post("/refunds", body, once="b")).text == made.text
    assert (await desk.get(f"/refunds/{made.body['id']}")).body == made.body
    (payment,) = (await desk.get("/payments")).body["data"]
    assert payment["amount_refunded"] == 500
    too_much = await desk.post("/refunds", {**body, "amount": 99_999}, once="c")
    assert too_much.code == "refund_too_large"


async def test_a_customer_is_made_once(desk: Desk) -> None:
    made = await desk.post("/customers", {"reference": "acme", "email": "a@example.com"})
    assert made.body["object"] == "customer"
    got = await desk.post("/customers", {"reference": "acme"})
    assert (got.status, got.code) == (409, "customer_exists")
    body = {**INVOICE, "customer": made.body["id"]}
    assert (await desk.post("/invoices", body)).body["customer_id"] == made.body["id"]


async def test_invoices_end_as_they_are_asked_to(desk: Desk) -> None:
    ends: dict[str, tuple[dict[str, Any], str]] = {
        "void": ({"reason": "made twice"}, "void"),
        "write_off": ({"reason": "bankrupt"}, "uncollectible"),
        "paid_elsewhere": ({"reference": "cash"}, "paid"),
    }
    for name, (body, status) in ends.items():
        await desk.post("/invoices", {**INVOICE, "reference": name})
        assert (await desk.post(f"/invoices/{name}/{name}", body)).body["status"] == status
    await desk.post("/invoices", INVOICE)
    amended = await desk.post("/invoices/R-1/amend", {"amount": 100, "reason": "late"})
    assert amended.body["amount_due"] == 100


async def test_finalizing_makes_the_payment_intent_now(desk: Desk) -> None:
    await desk.post("/invoices", INVOICE)
    got = await desk.post("/invoices/R-1/finalize")
    assert got.body["intent_id"].startswith("pi_")


async def test_times_are_utc(desk: Desk) -> None:
    made = await desk.post("/invoices", {**INVOICE, "due_at": "2099-01-01T00:00:00+02:00"})
    assert made.body["due_at"] == "2098-12-31T22:00:00Z"
    assert datetime.fromisoformat(made.body["created_at"])


async def test_a_request_that_takes_too_long_goes_on_and_is_answered_later(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.post("/invoices", INVOICE)
    monkeypatch.setattr(once, "LIMIT_S", 0)
    got = await desk.post("/invoices/R-1/collect", once="a")
    assert (got.status, got.code) == (504, "still_running")
    assert got.headers["retry-after"] == "1"
    await asyncio.gather(*desk.api.running)
    monkeypatch.undo()
    again = await desk.post("/invoices/R-1/collect", once="a")
    assert (again.status, again.body["collect"]) == (200, "paid")
    assert sum(desk.world.paid_at_stripe().values()) == 1

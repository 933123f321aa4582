"""Wherever the process dies in a POST, repeating it comes to one effect and one answer.

The boundaries are not written down: each POST runs once at collection, and every statement and
every call to Stripe that it made is one.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
import pytest

from tests import database as databases
from tests.api.desk import Desk, Got
from tests.api.desk import desk as open_desk
from tests.engine.rig import CrashError, Gate, When

AGAIN = "the-same-key"


@dataclass(frozen=True, eq=False)
class Post:
    """One POST: what is there before, where it goes, and what it comes to in the end."""

    name: str
    arrange: Callable[[Desk], Awaitable[str]]
    body: dict[str, object] | None
    effects: Callable[[Desk], Any]
    once: Any

    def __str__(self) -> str:
        return self.name


async def _prepared(desk: Desk) -> str:
    invoice = await desk.world.invoice(reference="R-1")
    await desk.world.prepare()
    return invoice


async def _collectable(desk: Desk) -> str:
    return f"/invoices/{await _prepared(desk)}/collect"


async def _unprepared(desk: Desk) -> str:
    """Nobody but the request prepares and charges it."""
    invoice = await desk.world.invoice(reference="R-1")
    desk.world.sql("UPDATE anchorhold.invoice SET collection = 'manual'")
    return f"/invoices/{invoice}/collect"


async def _voidable(desk: Desk) -> str:
    return f"/invoices/{await _prepared(desk)}/void"


async def _amendable(desk: Desk) -> str:
    return f"/invoices/{await _prepared(desk)}/amend"


async def _paid(desk: Desk) -> str:
    await desk.world.invoice(reference="R-1")
    await desk.world.charge_due()
    desk.world.sql("UPDATE anchorhold.payment SET id = 'pay_1'")
    return "/refunds"


async def _listening(desk: Desk) -> str:
    body = {"url": "https://example.com/hook"}
    made = await desk.post("/webhook_endpoints", body)
    desk.world.sql("UPDATE anchorhold.webhook_endpoint SET old_secret_until = NULL")
    return f"/webhook_endpoints/{made.body['id']}/rotate"


def _to(path: str) -> Callable[[Desk], Awaitable[str]]:
    async def arrange(_: Desk) -> str:
        return path

    return arrange


def _count(table: str) -> Callable[[Desk], Any]:
    return lambda desk: desk.world.sql(f"SELECT count(*) FROM anchorhold.{table}")[0][0]


def _journal(what: str) -> Callable[[Desk], Any]:
    sentence = f"SELECT count(*) FROM anchorhold.journal WHERE what = '{what}'"
    return lambda desk: desk.world.sql(sentence)[0][0]


def _money(desk: Desk) -> tuple[int, int]:
    """Payments at Stripe net of refunds, and payments here."""
    return sum(desk.world.paid_at_stripe().values()), _count("payment")(desk)


def _given_back(desk: Desk) -> list[Any]:
    return desk.world.sql("SELECT amount_refunded, refund_seq > 0 FROM anchorhold.payment")


def _secrets(desk: Desk) -> list[Any]:
    changed = "SELECT secret <> old_secret FROM anchorhold.webhook_endpoint"
    return desk.world.sql(changed)


INVOICE = {"customer": "acme", "amount": 14900, "currency": "eur"}
POSTS = (
    Post("create an invoice", _to("/invoices"), {**INVOICE, "due_at": "2099-01-01T00:00:00Z"},
         _count("invoice"), 1),
    Post("create a customer", _to("/customers"), {"reference": "acme"}, _count("customer"), 1),
    Post("collect", _collectable, None, _money, (1, 1)),
    Post("collect what is not prepared", _unprepared, None, _money, (1, 1)),
    Post("void", _voidable, {"reason": "made twice"}, _journal("invoice.void"), 1),
    Post("amend", _amendable, {"amount": 500, "reason": "late"}, _journal("invoice.amended"), 1),
    Post("refund", _paid, {"payment": "pay_1", "amount": 500, "reason": "broken"},
         _given_back, [(500, True)]),
    Post("add an endpoint", _to("/webhook_endpoints"), {"url": "https://example.com/hook"},
         _count("webhook_endpoint"), 1),
    Post("rotate a secret", _listening, {"hours": 1}, _secrets, [(True,)]),
)  # fmt: skip


@cache
def boundaries(post: Post) -> tuple[tuple[str, int], ...]:
    """The passages of one undisturbed POST."""
    with databases.clone(databases.server()) as conninfo:
        return asyncio.run(_record(post, conninfo))


async def _record(post: Post, conninfo: str) -> tuple[tuple[str, int], ...]:
    async with open_desk(conninfo) as desk:
        path = await post.arrange(desk)
        gate = Gate()
        got = await desk.post(path, post.body, once=AGAIN, gate=gate)
        assert got.status == 200, got.text
        assert post.effects(desk) == post.once
        return tuple(gate.points())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each POST and boundary."""
    if "point" in metafunc.fixturenames:
        cases = [
            pytest.param(post, point, id=f"{post} at {point[0]} #{point[1]}")
            for post in POSTS
            for point in boundaries(post)
        ]
        metafunc.parametrize(("post", "point"), cases)


@pytest.mark.parametrize("when", When)
async def test_repeating_it_comes_to_one_effect_and_one_answer(
    desk: Desk, post: Post, point: tuple[str, int], when: When
) -> None:
    path = await post.arrange(desk)
    gate = Gate(dies_at=(*point, when))
    with contextlib.suppress(CrashError, psycopg.OperationalError):
        await desk.post(path, post.body, once=AGAIN, gate=gate)
    assert point in gate.points(), "the POST did not come by this boundary"

    answer = await _until_answered(desk, path, post)
    await desk.world.recover(rounds=2)
    assert post.effects(desk) == post.once
    again = await desk.post(path, post.body, once=AGAIN)
    assert (again.status, again.text) == (answer.status, answer.text)
    assert again.headers["idempotent-replayed"] == "true"


async def _until_answered(desk: Desk, path: str, post: Post) -> Got:
    """A caller that repeats its request for as long as it is told to."""
    for _ in range(6):
        got = await desk.post(path, post.body, once=AGAIN)
        if got.status == 200:
            return got
        assert got.status in {409, 503}, got.text
        desk.world.later(minutes=6)
        await desk.world.tick()
    raise AssertionError(f"no answer: {got.text.decode()}")

"""A small soak in the suite, and proof that its plan and its audit see what they are there for."""

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from anchorhold.demo.audit import InvoiceRow
from anchorhold.twin.ledger import Payment
from tests.soak.audit import CHECKS, Attempt, Evidence, judge
from tests.soak.proxy import Proxy, Streams
from tests.soak.run import Soaked, soak
from tests.soak.scene import Scene
from tests.soak.trouble import ACTS, DECK, Trouble, plan

INVOICE = InvoiceRow("inv_1", "paid", "succeeded", None, False, 990, "eur", False, 1)
PAYMENT = Payment("acct", "pi_1", "ch_1", 990, 0, "eur", 1, False)
ATTEMPT = Attempt("acc_1", "inv_1", "att_1", 0, "succeeded", 100.0)
CONFIRM = {
    "number": 1,
    "method": "POST",
    "path": "/v1/payment_intents/pi_1/confirm",
    "idempotency_key": ATTEMPT.key,
    "executed": True,
    "at": 99.0,
}
CLEAN = Evidence(
    rows=[INVOICE],
    references={"inv_1": "INV-00001"},
    attempts=[ATTEMPT],
    recorded=[("pi_1", 990, "eur")],
    at_stripe={"inv_1": [PAYMENT]},
    charges=[CONFIRM],
)
WRONG = {
    "ended otherwise than the card says": replace(
        CLEAN, rows=[replace(INVOICE, status="open", payment_status="failed", has_error=True)]
    ),
    "I2: recorded otherwise than it is at Stripe": replace(CLEAN, recorded=[]),
    "I5: attempts never proven": replace(CLEAN, attempts=[ATTEMPT._replace(state="sending")]),
    "I6: ended as not sent, and Stripe carried it out": replace(
        CLEAN, attempts=[ATTEMPT._replace(state="not_sent")]
    ),
    "I9: sent without a committed trace": replace(CLEAN, attempts=[]),
    "I4: sent after the hold": replace(CLEAN, charges=[{**CONFIRM, "at": 103.6}]),
    "I3: a closed invoice can still be paid": replace(
        CLEAN,
        named=frozenset({"pi_2"}),
        intents=[
            {
                "id": "pi_2",
                "status": "requires_payment_method",
                "metadata": {"anchorhold_invoice_id": "inv_1"},
            }
        ],
    ),
    "I1: two charges with one number": replace(
        CLEAN, attempts=[ATTEMPT, ATTEMPT._replace(id="att_2")]
    ),
}


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Soaked:
    """Two hundred charges."""
    folder = tmp_path_factory.mktemp("soak")
    scene = Scene(3, 200, 3, folder, durable=False, per_s=60, acts=16, pause_s=0.3)
    return asyncio.run(soak(scene, lambda _line: None))


@pytest.mark.xdist_group("demo")
def test_two_hundred_charges_come_through_it(soaked: Soaked) -> None:
    assert soaked.audit.findings == {}
    assert soaked.audit.counted.paid
    assert soaked.troubles


def test_every_kind_of_trouble_is_known_and_comes_with_every_seed() -> None:
    once_through = sum(DECK.values())
    for seed in range(5):
        played = Counter(islice(plan(Random(seed)), once_through))
        assert played == Counter(DECK)
    assert set(ACTS) == set(Trouble)


def test_the_same_seed_plans_the_same_trouble() -> None:
    first, again = (list(islice(plan(Random(7)), 100)) for _ in range(2))
    assert first == again != list(islice(plan(Random(8)), 100))


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert judge(CLEAN)[1] == {}


def test_a_payment_for_a_void_invoice_is_lost_unless_its_notice_is_there() -> None:
    voided = replace(INVOICE, status="void", payment_status="pending", payments=1)
    silent = replace(CLEAN, rows=[voided], touched=frozenset({"inv_1"}))
    assert [*judge(silent)[1]] == ["lost_payments"]
    assert judge(replace(silent, told=frozenset({("inv_1", "pi_1")})))[1] == {}


@pytest.mark.parametrize("name", CHECKS)
def test_the_audit_finds_each_thing_that_can_be_wrong(name: str) -> None:
    assert list(CHECKS[name](WRONG[name]))


class Echo:
    """A server that says what it hears, and how much that was; with a proxy before it."""

    def __init__(self) -> None:
        self.heard = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Echo until the other end has said all."""
        while data := await reader.read(100):
            self.heard += data
            writer.write(data)
        writer.close()


@pytest.mark.parametrize("trouble", ["lose_answer", "reset", "half_close"])
async def test_a_wire_breaks_as_it_should(trouble: str) -> None:
    echo = Echo()
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def reach() -> Streams:
        return await asyncio.open_connection("127.0.0.1", port)

    proxy = Proxy(reach)
    await proxy.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"first")
    assert await reader.readexactly(5) == b"first"
    (wire,) = proxy.some(Random(0), 1)
    if trouble == "lose_answer":
        wire.lose_answer()
        writer.write(b"second")
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(6)
        assert echo.heard == b"firstsecond"
    elif trouble == "reset":
        wire.reset()
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(6)
    else:
        wire.half_close(to_server=False)
        assert await reader.read() == b""
        writer.write_eof()
    await proxy.stop()
    server.close()
    writer.close()


@pytest.mark.xdist_group("demo")
def test_a_soak_leaves_its_files_where_it_was_told(soaked: Soaked) -> None:
    folder: Path = soaked.scene.folder
    assert {one.name for one in folder.iterdir()} >= {"postgres", "workers.log"}

"""Bank debits of three schemes over HTTP: days of `processing`, a late no, and a return.

The twin's clock is moved by its own path, as somebody would who tests against it.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import aiohttp
import pytest
import pytest_asyncio

from anchorhold.domain.ids import InvoiceId
from anchorhold.stripe.transport import Transport
from anchorhold.twin.server import TwinServer, serve
from tests.engine.left import notices
from tests.engine.rig import DEBIT_S, Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import allow_mandates

# fmt: off
SCHEMES = [
    # scheme, currency, an account that pays, one that says no, one that takes its money back
    ("us_bank_account", "usd", "pm_usBankAccount_success", "pm_usBankAccount_insufficientFunds",
     "pm_usBankAccount_dispute"),
    ("sepa_debit",      "eur", "pm_success_de", "pm_failed_de", "pm_disputed_de"),
    ("bacs_debit",      "gbp", "pm_bacsDebit_success", "pm_bacsDebit_insufficientFunds",
     "pm_bacsDebit_dispute"),
]
# fmt: on
NAMES = ("scheme", "currency", "pays", "fails", "returns")


@dataclass
class Bank:
    """The rig on a twin that is reached over HTTP, and the twin's own paths."""

    world: Rig
    http: aiohttp.ClientSession

    async def debit(self, scheme: str, currency: str, method: str) -> InvoiceId:
        """A debit of ours is under way."""
        world = self.world
        world.sql(f"UPDATE anchorhold.connection SET payment_method_types = '{{card,{scheme}}}'")
        invoice = await world.invoice(method=method, currency=currency)
        await world.prepare()
        allow_mandates(world)
        await world.charge_due()
        return invoice

    async def passes(self, seconds: float) -> None:
        """So much time goes by, here and at Stripe, and then a worker comes."""
        self.world.pool.shift += timedelta(seconds=seconds)
        async with self.http.post("/_twin/clock", json={"advance": seconds}) as moved:
            assert moved.status == 200
        await self.world.tick()
        await self.world.charge_due()

    async def act(self, name: str, **given: object) -> None:
        """The bank does something that no merchant can."""
        async with self.http.post(f"/_twin/{name}", json=given) as done:
            assert done.status == 200, await done.text()

    async def objects(self, kind: str) -> list[dict[str, object]]:
        """What Stripe lists."""
        headers = {"Authorization": f"Bearer {self.world.secret_key}"}
        async with self.http.get(f"/v1/{kind}", headers=headers) as listed:
            found: list[dict[str, object]] = (await listed.json())["data"]
        return found

    def stands(self, invoice: InvoiceId) -> tuple[str, str]:
        """Status and payment status."""
        row = self.world.row(invoice)
        return row["status"], row["payment_status"]


@pytest_asyncio.fixture
async def bank(world: Rig) -> AsyncIterator[Bank]:
    server: TwinServer = await serve(world.twin)
    transport = Transport()
    async with aiohttp.ClientSession(server.url) as http:
        yield Bank(replace(world, over_http=transport, base=server.url), http)
    await transport.close_async()
    await server.stop()


@pytest.mark.parametrize(NAMES, SCHEMES)
async def test_a_debit_takes_days_and_no_day_counts_against_it(
    bank: Bank, scheme: str, currency: str, pays: str, fails: str, returns: str
) -> None:
    invoice = await bank.debit(scheme, currency, pays)
    for _ in range(3):
        await bank.passes(86_400)
        assert bank.stands(invoice) == ("open", "processing")
    assert [one["status"] for one in await bank.objects("charges")] == ["pending"]
    assert bank.world.attempts(invoice) == [("processing", "answered")]
    assert bank.world.sql("SELECT 1 FROM anchorhold.payment") == []
    await bank.passes(2 * 86_400)
    assert bank.stands(invoice) == ("paid", "succeeded")
    assert notices(bank.world) == []
    await standing_checks(bank.world)


@pytest.mark.parametrize(NAMES, SCHEMES)
async def test_a_debit_that_fails_late_is_one_decline_and_is_not_tried_again_by_itself(
    bank: Bank, scheme: str, currency: str, pays: str, fails: str, returns: str
) -> None:
    invoice = await bank.debit(scheme, currency, fails)
    await bank.passes(DEBIT_S - 60)
    assert bank.stands(invoice) == ("open", "processing")
    for _ in range(4):
        await bank.passes(86_400)
    assert bank.stands(invoice) == ("open", "failed")
    assert [state for state, _ in bank.world.attempts(invoice)] == ["failed"]
    [charge] = await bank.objects("charges")
    assert (charge["status"], bool(charge["failure_code"])) == ("failed", True)
    await standing_checks(bank.world)


@pytest.mark.parametrize(NAMES, SCHEMES)
async def test_a_debit_that_is_returned_after_its_success_is_owed_again(
    bank: Bank, scheme: str, currency: str, pays: str, fails: str, returns: str
) -> None:
    invoice = await bank.debit(scheme, currency, returns)
    await bank.passes(DEBIT_S + 86_400)
    assert bank.stands(invoice) == ("paid", "succeeded")
    [dispute] = await bank.objects("disputes")
    await bank.act("close_dispute", dispute=dispute["id"], won=False)
    await bank.passes(3600)
    row = bank.world.row(invoice)
    assert (*bank.stands(invoice), row["collection"]) == ("open", "failed", "manual")
    assert row["amount_paid"] == 0
    await bank.passes(86_400)
    assert len(await bank.objects("charges")) == 1, "only a person collects it again"

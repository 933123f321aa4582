"""Credit: whole or not at all, spent by a close, never beside a payment."""

from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.credit import settle_without_stripe
from anchorhold.store import credits as balances
from tests.engine.left import journal, left
from tests.engine.rig import Rig
from tests.engine.standing import at_most_one_success
from tests.engine.stripe_side import CANCEL, AtStripe, between, refusal


async def give(world: Rig, invoice: InvoiceId, amount: int, currency: str = "eur") -> None:
    customer = world.row(invoice)["customer_id"]
    assert await balances.give(
        world.pool,
        world.scope,
        customer,
        amount=amount,
        currency=currency,
        reason="goodwill",
        actor="operator:ann",
    )


async def settled(world: Rig) -> dict[str, int]:
    return await settle_without_stripe(world.deps(), world.scope, limit=10)


def balance(world: Rig) -> int:
    ((found,),) = world.sql("SELECT balance FROM anchorhold.credit_balance")
    return int(found)


async def test_credit_that_covers_it_pays_it_and_the_intent_is_cancelled(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await give(world, invoice, 20000)
    assert await settled(world) == {"credit": 1}
    assert AtStripe(world).intents(invoice) == ["canceled"]
    row = world.row(invoice)
    assert (row["status"], row["amount_paid"]) == ("paid", 14900)
    assert balance(world) == 5100
    entries = world.sql(
        "SELECT amount, balance, invoice_id FROM anchorhold.credit_entry ORDER BY id"
    )
    assert entries == [(20000, 20000, None), (-14900, 5100, invoice)]
    assert world.sql("SELECT amount, source FROM anchorhold.payment") == [(14900, "credit")]
    assert ("invoice.credit", "C4") in journal(world, invoice)


async def test_credit_that_does_not_cover_all_of_it_is_not_touched(world: Rig) -> None:
    invoice = await world.invoice()
    await give(world, invoice, 14899)
    assert await settled(world) == {}
    await world.charge_due()
    assert (world.row(invoice)["status"], balance(world)) == ("paid", 14899)


async def test_credit_in_another_currency_is_not_touched(world: Rig) -> None:
    invoice = await world.invoice()
    await give(world, invoice, 14900, "usd")
    assert await settled(world) == {}


async def test_credit_for_one_of_two_pays_the_older_one(world: Rig) -> None:
    first = await world.invoice(customer="acme")
    second = await world.invoice(customer="acme")
    await give(world, first, 15000)
    assert await settled(world) == {"credit": 1, "credit_too_small": 1}
    assert [world.row(each)["status"] for each in (first, second)] == ["paid", "open"]
    assert left(world, second).free
    assert balance(world) == 100


async def test_credit_is_not_spent_when_the_customer_paid_first(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await give(world, invoice, 14900)
    AtStripe(world).page_confirms(invoice)
    assert await settled(world) == {"paid_meanwhile": 1}
    assert (world.row(invoice)["status"], balance(world)) == ("paid", 14900)
    at_most_one_success(world)


async def test_credit_is_not_spent_when_nobody_can_tell(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await give(world, invoice, 14900)
    between(world, (CANCEL, refusal(500)))
    assert await settled(world) == {"provider_unavailable": 1}
    assert balance(world) == 14900
    assert not left(world, invoice).free
    assert await world.claim_due() == []


async def test_what_credit_covers_is_not_charged(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    await give(world, invoice, 14900)
    assert await world.claim_due() == []
    assert AtStripe(world).charges(invoice) == []


async def test_collect_takes_the_credit_first(world: Rig) -> None:
    invoice = await world.invoice()
    await give(world, invoice, 14900)
    assert (await world.collect(invoice)).saved == "paid"
    assert AtStripe(world).intents(invoice) == []
    assert balance(world) == 0


async def test_an_invoice_of_nothing_is_settled(world: Rig) -> None:
    invoice = await world.invoice()
    world.sql("UPDATE anchorhold.invoice SET amount_due = 0")
    assert await settled(world) == {"nothing_due": 1}
    assert world.row(invoice)["status"] == "paid"
    assert world.sql("SELECT FROM anchorhold.payment") == []

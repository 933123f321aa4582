"""Following an intent by its id: each row, the ladder, and looks that come too late."""

import sys

from anchorhold.domain.following import FOLLOW
from anchorhold.domain.ids import InvoiceId
from anchorhold.engine.follow import follow, look_at
from anchorhold.store import follows
from anchorhold.twin.faults import FaultKind, Rule
from tests.domain.tables import rows_without_a_test
from tests.engine.left import Left, journal, left
from tests.engine.rig import DEBIT_S, Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import (
    RETRIEVE,
    AtStripe,
    allow_mandates,
    between,
    end_debits,
    shows,
)

WRITTEN_OFF = "UPDATE anchorhold.invoice SET status = 'uncollectible'"


def test_every_row_has_a_test() -> None:
    assert not rows_without_a_test(sys.modules[__name__], (row.id for row in FOLLOW))


async def debited(world: Rig, method: str = "pm_success_de") -> InvoiceId:
    """A debit of ours is processing, and a minute has gone by."""
    world.sql("UPDATE anchorhold.connection SET payment_method_types = '{card,sepa_debit}'")
    invoice = await world.invoice(method=method)
    await world.prepare()
    allow_mandates(world)
    await world.charge_due()
    world.later(minutes=2)
    return invoice


async def followed(world: Rig) -> dict[str, int]:
    """What the followers saw, with no news from Stripe beside them."""
    return await follow(world.deps(), world.scope)


async def test_f1_a_debit_that_pays_is_its_attempts(world: Rig) -> None:
    invoice = await debited(world)
    end_debits(world)
    assert await followed(world) == {"F1": 1}
    assert left(world, invoice) == Left(
        "paid", "succeeded", True, 1, ("succeeded", "answered", "F1"), "succeeded"
    )
    await standing_checks(world)


async def test_f2_a_debit_takes_days_and_is_looked_at_less_and_less_often(world: Rig) -> None:
    invoice = await debited(world)
    looks = 0
    for _ in range(72):
        world.later(hours=1)
        looks += sum((await followed(world)).values())
    assert 6 <= looks <= 16
    assert left(world, invoice).payment_status == "processing"
    world.later(seconds=DEBIT_S)
    await world.tick()
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_f3_an_intent_that_was_cancelled_ends_the_following(world: Rig) -> None:
    invoice = await debited(world)
    canceled = {**AtStripe(world).intent(invoice), "status": "canceled"}
    between(world, (RETRIEVE, shows(canceled)))
    assert await followed(world) == {"F3": 1}
    assert left(world, invoice).intent == "canceled"
    assert world.row(invoice)["intent_id"] is None


async def test_f4_a_debit_that_fails_is_the_decline_of_its_attempt(world: Rig) -> None:
    invoice = await debited(world, "pm_failed_de")
    end_debits(world)
    assert await followed(world) == {"F4": 1}
    assert left(world, invoice) == Left(
        "open", "failed", True, 2, ("failed", "answered", "F4"), "live"
    )
    assert journal(world, invoice)[-1] == ("following.ended", "F4")
    await standing_checks(world)


async def test_f4_a_customer_who_starts_anew_on_the_same_intent_ends_it_too(world: Rig) -> None:
    """P10: requires_action is neither processing nor succeeded."""
    invoice = await debited(world, "pm_failed_de")
    end_debits(world)
    AtStripe(world).page_confirms(invoice, "pm_card_threeDSecure2Required")
    assert await followed(world) == {"F4": 1}
    assert left(world, invoice).attempt[0] == "failed"
    assert left(world, invoice).payment_status == "failed"


async def test_f5_on_a_written_off_invoice_it_is_cancelled_first(world: Rig) -> None:
    invoice = await debited(world, "pm_failed_de")
    world.sql(WRITTEN_OFF)
    end_debits(world)
    assert await followed(world) == {"F5": 1}
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert left(world, invoice).payment_status == "processing", "it ends on `canceled` only"
    world.later(minutes=5)
    assert await followed(world) == {"F3": 1}
    await standing_checks(world)


async def test_f6_a_direct_charge_that_failed_is_cancelled_before_it_ends(world: Rig) -> None:
    """H17: nobody's live intent, and payable beside the next attempt's."""
    invoice = await debited(world, "pm_failed_de")
    end_debits(world)
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("DELETE FROM anchorhold.intent")
    assert await followed(world) == {"F6": 1}
    assert AtStripe(world).intents(invoice) == ["canceled"]
    assert left(world, invoice).payment_status == "processing"
    world.later(minutes=5)
    assert await followed(world) == {"F3": 1}
    assert left(world, invoice).payment_status == "failed"
    assert left(world, invoice).attempt == ("failed", "answered", "F3")
    assert world.sql("SELECT decline IS NOT NULL FROM anchorhold.attempt") == [(True,)]


async def test_f4_a_charge_whose_unclear_answer_named_its_intent_ends_as_its_decline(
    world: Rig,
) -> None:
    invoice = await debited(world, "pm_failed_de")
    end_debits(world)
    world.sql("UPDATE anchorhold.invoice SET payment_status = 'unknown'")
    world.sql("UPDATE anchorhold.attempt SET state = 'superseded', cause = 'no_trace'")
    assert await followed(world) == {"F4": 1}
    assert left(world, invoice).attempt[0] == "failed"
    assert left(world, invoice).payment_status == "failed"


async def test_f1_a_debit_pays_a_written_off_invoice(world: Rig) -> None:
    invoice = await debited(world)
    world.sql(WRITTEN_OFF)
    end_debits(world)
    assert await followed(world) == {"F1": 1}
    assert world.row(invoice)["status"] == "paid"
    await standing_checks(world)


async def test_f0_no_answer_changes_nothing(world: Rig) -> None:
    invoice = await debited(world)
    before = left(world, invoice)
    world.twin.faults.replace([Rule(FaultKind.DROPPED_BEFORE, RETRIEVE, frozenset({1}))])
    assert await followed(world) == {"F0": 1}
    assert left(world, invoice) == before


async def test_a_late_look_at_one_debit_never_declines_the_next(world: Rig) -> None:
    """P7: two followers read the failed debit; one writes, the next attempt is processing."""
    invoice = await debited(world, "pm_failed_de")
    end_debits(world)
    (stale,) = await follows.take(world.pool, world.scope, limit=1)
    failed = AtStripe(world).intent(invoice)
    world.later(minutes=2)
    assert await followed(world) == {"F4": 1}
    await world.collect(invoice)
    before = left(world, invoice)
    assert before.attempt[0] == "processing"
    deps = world.deps()
    connected = await deps.providers.of(world.scope)
    assert connected is not None
    between(world, (RETRIEVE, shows(failed)))
    assert await look_at(deps, connected, world.scope, stale) == "F4"
    assert left(world, invoice) == before
    assert [state for state, _ in world.attempts(invoice)] == ["failed", "processing"]


async def test_a_page_that_made_the_debit_declines_nobody(world: Rig) -> None:
    invoice = await world.invoice()
    await world.prepare()
    AtStripe(world).page_debits(invoice, "pm_failed_de")
    await world.charge_due()
    end_debits(world)
    await world.recover(rounds=1)
    assert [state for state, _ in world.attempts(invoice)] == ["superseded"]
    assert left(world, invoice).payment_status == "failed"
    await standing_checks(world)

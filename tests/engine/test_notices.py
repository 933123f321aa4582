"""Notices as tasks: each code, how it is resolved, by whom, once."""

import asyncio
import re
from pathlib import Path

import pytest

import anchorhold
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.notices import NOTICES, OF, SETTLED_BY_REFUND, about
from anchorhold.domain.payment import NOTICES as OF_VERDICTS
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.notices import Resolved, give_back, resolve
from anchorhold.twin.faults import FaultKind
from tests.engine.left import notices
from tests.engine.lost import unknown
from tests.engine.rig import Rig
from tests.engine.standing import standing_checks
from tests.engine.stripe_side import AtStripe, between, refusal
from tests.engine.test_news import hears, offered, told
from tests.engine.test_refunds import REFUNDS, at_stripe

SOURCES = Path(anchorhold.__file__).parent / "store"
WRITTEN = re.compile(
    r"'((?:payment|refund|collection|charge|events)\.[a-z_]+)', (?:id|NEW|c\.|m\.)"
)


def test_every_notice_of_the_news_is_in_the_table() -> None:
    assert set(OF_VERDICTS.values()) <= set(OF)
    assert len(OF) == len(NOTICES)
    for path in SOURCES.rglob("*.py"):
        assert set(WRITTEN.findall(path.read_text("utf-8"))) <= set(OF), path


def test_a_code_of_another_part_is_told_as_it_is() -> None:
    assert about("recover.unknown_invoice").happened == "Recover unknown invoice."


async def duplicate(world: Rig) -> tuple[InvoiceId, str]:
    """Paid by our charge, and once more by an intent that no row knew; its notice's id."""
    invoice = await offered(world)
    first = AtStripe(world).intent(invoice)
    world.sql("UPDATE anchorhold.invoice SET intent_id = NULL")
    world.sql("UPDATE anchorhold.intent SET state = 'used_up', stripe_intent_id = NULL")
    world.later(minutes=2)
    await world.charge_due()
    AtStripe(world).client().done(
        f"/v1/payment_intents/{first['id']}/confirm",
        payment_method="pm_card_visa",
        return_url="https://example.com/back",
    )
    await world.tick()
    ((notice,),) = world.sql("SELECT id FROM anchorhold.notice")
    return invoice, str(notice)


def resolution(world: Rig) -> tuple[str, str]:
    ((by, words),) = world.sql("SELECT resolved_by, resolution FROM anchorhold.notice")
    return by, words


async def test_one_act_refunds_a_duplicate_and_resolves_its_notice(world: Rig) -> None:
    invoice, notice = await duplicate(world)
    done = await give_back(world.deps(), world.scope, notice)
    assert done.resolved
    assert at_stripe(world) == [(14900, "succeeded")]
    assert resolution(world) == ("worker:test", "the payment was refunded in full")
    assert world.row(invoice)["status"] == "paid"
    refunded = world.sql("SELECT amount_refunded FROM anchorhold.payment ORDER BY id")
    assert refunded == [(0,), (14900,)], "the second one, not the first"
    await standing_checks(world)


async def test_a_duplicate_refunded_in_stripes_dashboard_resolves_itself(world: Rig) -> None:
    _, notice = await duplicate(world)
    ((intent,),) = world.sql("SELECT subject FROM anchorhold.notice WHERE id = %s", notice)
    AtStripe(world).client().done("/v1/refunds", payment_intent=intent)
    await world.tick()
    assert resolution(world)[1] == "the payment was refunded in full"


async def test_two_who_refund_it_at_once_give_it_back_once(world: Rig) -> None:
    _, notice = await duplicate(world)
    came = await asyncio.gather(
        *(give_back(world.deps(), world.scope, notice) for _ in range(4)), return_exceptions=True
    )
    assert any(isinstance(one, Resolved) and one.resolved for one in came)
    assert all(isinstance(one, Resolved | Refusal) for one in came)
    assert at_stripe(world) == [(14900, "succeeded")]


async def test_while_the_refunds_answer_is_not_known_the_notice_stays_open(world: Rig) -> None:
    _, notice = await duplicate(world)
    between(world, (REFUNDS, refusal(500, type="api_error")))
    assert not (await give_back(world.deps(), world.scope, notice)).resolved
    world.later(minutes=5)
    await world.tick()
    assert resolution(world)[1] == "the payment was refunded in full"


async def test_only_what_is_too_much_is_given_back(world: Rig) -> None:
    invoice = await offered(world)
    AtStripe(world).page_confirms(invoice)
    world.sql("UPDATE anchorhold.invoice SET amount_due = 10000")
    await hears(world, *told(world, "payment_intent.succeeded"))
    assert notices(world) == ["payment.amount_mismatch"]
    ((notice,),) = world.sql("SELECT id FROM anchorhold.notice")
    await give_back(world.deps(), world.scope, str(notice))
    assert at_stripe(world) == [(4900, "succeeded")]
    assert resolution(world)[1] == "refunded"


async def test_words_resolve_a_notice_once(world: Rig) -> None:
    _, notice = await duplicate(world)
    with pytest.raises(Refusal) as refused:
        await resolve(world.deps(), world.scope, notice, "  ")
    assert refused.value.code is Code.RESOLUTION_MISSING
    assert (await resolve(world.deps(), world.scope, notice, "credited")).resolved
    assert resolution(world) == ("worker:test", "credited")
    with pytest.raises(Refusal) as again:
        await resolve(world.deps(), world.scope, notice, "credited")
    assert again.value.code is Code.NOTICE_RESOLVED


async def test_what_no_refund_settles_is_refused(world: Rig) -> None:
    await duplicate(world)
    world.sql("UPDATE anchorhold.notice SET code = 'collection.blocked'")
    ((notice,),) = world.sql("SELECT id FROM anchorhold.notice")
    with pytest.raises(Refusal) as refused:
        await give_back(world.deps(), world.scope, str(notice))
    assert refused.value.code is Code.NOTICE_HAS_NO_REFUND
    with pytest.raises(Refusal) as missing:
        await give_back(world.deps(), world.scope, "ntc_none")
    assert missing.value.code is Code.NOTICE_NOT_FOUND


async def test_a_park_is_told_as_a_warning_until_it_ends(world: Rig) -> None:
    """In the statement that parks the charge, and in the one that ends it, whoever writes them."""
    invoice = await unknown(world, FaultKind.DROPPED_BEFORE)
    world.sql(
        "UPDATE anchorhold.intent SET state = 'canceled', ended_at = now();"
        "UPDATE anchorhold.invoice SET payment_status = 'unknown', intent_id = NULL"
    )
    assert notices(world) == ["charge.unidentifiable"]
    assert about("charge.unidentifiable").weight == "warning"
    world.sql("UPDATE anchorhold.invoice SET provider_synced_at = now()")
    assert world.sql("SELECT resolved_at FROM anchorhold.notice") == [(None,)]
    world.sql(
        "UPDATE anchorhold.invoice SET payment_status = 'failed', hold_until = NULL, "
        "hold_attempt = NULL"
    )
    by, words = resolution(world)
    assert (by, words) == ("anchorhold", "Stripe's answer is known, or the wait is over")
    assert invoice


def test_a_full_refund_settles_money_that_nobody_owes() -> None:
    assert set(SETTLED_BY_REFUND) == {
        "payment.duplicate_charge",
        "payment.received_on_voided_invoice",
        "payment.amount_mismatch",
    }

"""What has to be so after every case: the standing checks."""

from typing import Any

from anchorhold.engine.follow import follow
from anchorhold.engine.sweep import sweep
from anchorhold.engine.tick import tick
from anchorhold.twin.ledger import Ledger
from tests.engine.rig import Rig

STATE = {
    "invoice": "id, status, payment_status, charge_seq, amount_paid, hold_until IS NULL AS free, "
    "hold_attempt, intent_id, followed_intent_id, blocked_reason, collection",
    "attempt": "id, state, cause, rule, decline, charge_id, seq, kind",
    "intent": "invoice_id, number, state, stripe_intent_id",
    "payment": "id, invoice_id, attempt_id, stripe_intent_id, amount, amount_refunded, currency",
    "notice": "id, code, invoice_id, subject",
}
"""What counts as a change; when something was looked at does not."""


async def standing_checks(world: Rig, *, quiet: bool = True) -> None:
    """One success an invoice, each recorded once, no hold without an alarm, nothing left to change.

    `quiet`: nothing is under way any more, so that everything once more changes nothing either.
    """
    at_most_one_success(world)
    every_success_is_recorded(world)
    no_hold_without_an_alarm(world)
    nobody_sent_within_a_transaction(world)
    if quiet:
        await once_more_changes_nothing(world)


def at_most_one_success(world: Rig) -> None:
    """Successes net of refunds are at most the total, or a person was told."""
    told = {row[0] for row in world.sql("SELECT invoice_id FROM anchorhold.notice")}
    due = dict(world.sql("SELECT id, amount_due FROM anchorhold.invoice"))
    for invoice, payments in Ledger(world.twin).by_metadata("anchorhold_invoice_id").items():
        net = sum(payment.net for payment in payments)
        assert invoice in told or net <= due[invoice], f"{invoice} was paid {net} of {due[invoice]}"


def every_success_is_recorded(world: Rig) -> None:
    """Each succeeded intent at Stripe has its one payment, with its amount, and no other has."""
    recorded = world.sql("SELECT stripe_intent_id, amount, currency FROM anchorhold.payment")
    at_stripe = [
        (payment.intent, payment.amount, payment.currency)
        for _, payment in Ledger(world.twin).payments()
    ]
    assert sorted(recorded) == sorted(at_stripe)


def no_hold_without_an_alarm(world: Rig) -> None:
    """A hold past its end was spoken of as an error."""
    loud = {facts.get("invoice") for level, _, facts in world.log.lines if level == "error"}
    rows = world.sql(
        "SELECT id FROM anchorhold.invoice WHERE hold_until < anchorhold.now() - interval '2 hours'"
    )
    assert {row[0] for row in rows} <= loud


def nobody_sent_within_a_transaction(world: Rig) -> None:
    """When a request left, no session of this database was idle in a transaction."""
    assert not world.transport.sent_in_transaction


async def once_more_changes_nothing(world: Rig) -> None:
    """Sweep, tick, followers and what is due, again: the same rows, the same money.

    When all of Stripe's news has been read, which may still tell whose attempt a success was.
    """
    await tick(world.deps(), world.scope)
    before = state(world)
    world.later(minutes=31)
    await sweep(world.deps(), world.scope)
    await follow(world.deps(), world.scope)
    await tick(world.deps(), world.scope)
    await world.charge_due()
    after = state(world)
    changed = {what: (before[what], after[what]) for what in before if before[what] != after[what]}
    assert not changed, changed


def state(world: Rig) -> dict[str, list[Any]]:
    """Everything that matters, here and at Stripe."""
    here = {
        table: world.sql(f"SELECT {columns} FROM anchorhold.{table} ORDER BY 1, 2")
        for table, columns in STATE.items()
    }
    ledger = Ledger(world.twin)
    here["at Stripe"] = [(i["id"], i["status"]) for i in ledger.intents()]
    here["charges"] = [(c["id"], c["status"]) for c in ledger.charges()]
    return here

"""Failed invoices under a policy, and what their runs say."""

from dataclasses import dataclass
from datetime import time
from typing import Any

from anchorhold.domain.closing import FinalAction
from anchorhold.domain.dunning import Policy
from anchorhold.domain.ids import DUNNING_POLICY, CustomerId, DunningPolicyId, InvoiceId
from anchorhold.engine.dunning import Dunned, dun
from anchorhold.entropy import new_id
from anchorhold.store import dunning_policies
from tests.engine.rig import Rig
from tests.engine.stripe_side import CONFIRM, Turn, between, refusal

DAILY = Policy((24, 72, 120), None, "UTC", FinalAction.MARK_UNCOLLECTIBLE)
"""Three retries: a day, three days and five days after a decline."""

DECLINES = "pm_card_chargeCustomerFail"


async def policy(
    world: Rig, policy: Policy = DAILY, customer: str | None = None, name: str = "default"
) -> DunningPolicyId:
    """The account, or one customer, has this policy."""
    id_ = new_id(DUNNING_POLICY)
    assert await dunning_policies.add(world.pool, world.scope, id_, name, policy)
    assert await dunning_policies.assign(
        world.pool, world.scope, id_, CustomerId(customer) if customer else None
    )
    return id_


async def declined(world: Rig, method: str = DECLINES, **given: Any) -> InvoiceId:
    """An invoice whose first charge was declined."""
    invoice = await world.invoice(method=method, **given)
    await world.charge_due()
    assert world.row(invoice)["payment_status"] == "failed"
    return invoice


async def pass_(world: Rig) -> Dunned:
    """One pass of dunning, by a process of its own."""
    return await dun(world.deps(), world.scope)


@dataclass
class RunRow:
    """A run as it stands."""

    rule: str | None
    next_step: str | None
    outcome: str | None
    wait_h: float
    """Hours until it is due."""


def run(world: Rig, invoice: InvoiceId) -> RunRow:
    """The invoice's only run."""
    (row,) = world.sql(
        """
        SELECT rule, next_step, outcome,
               round(extract(epoch FROM next_at - anchorhold.now()) / 3600, 1)::float8
          FROM anchorhold.dunning_run WHERE invoice_id = %s
        """,
        invoice,
    )
    return RunRow(*row)


def runs(world: Rig) -> int:
    """How many there are."""
    return len(world.sql("SELECT 1 FROM anchorhold.dunning_run"))


def steps(world: Rig, invoice: InvoiceId) -> list[tuple[str, str]]:
    """Kind and state of each step, oldest first."""
    rows = world.sql(
        """
        SELECT s.kind, s.state FROM anchorhold.dunning_step s
          JOIN anchorhold.dunning_run r ON r.id = s.run_id
         WHERE r.invoice_id = %s ORDER BY s.number
        """,
        invoice,
    )
    return [(kind, state) for kind, state in rows]


def at(hour: int, minute: int = 0) -> time:
    """A time of day."""
    return time(hour, minute)


def no(decline_code: str, advice: str | None = None) -> Turn:
    """The bank says no to a confirm, with this code and advice of Stripe's."""
    return refusal(
        402,
        type="card_error",
        code="card_declined",
        decline_code=decline_code,
        advice_code=advice,
        message="No.",
    )


async def declined_as(world: Rig, decline_code: str, advice: str | None = None) -> InvoiceId:
    """An invoice of a card that would pay by now, and was declined with this code."""
    invoice = await world.invoice()
    between(world, (CONFIRM, no(decline_code, advice)))
    await world.charge_due()
    assert world.row(invoice)["payment_status"] == "failed"
    return invoice


async def new_card(world: Rig, invoice: InvoiceId, method: str = "pm_card_mastercard") -> None:
    """The customer of the invoice gave another card, and Stripe has it."""
    world.sql(
        """
        UPDATE anchorhold.stripe_customer
           SET requested_method = %s, payment_method = NULL, look_at = anchorhold.now()
         WHERE customer_id = %s
        """,
        method,
        world.row(invoice)["customer_id"],
    )
    await world.prepare()

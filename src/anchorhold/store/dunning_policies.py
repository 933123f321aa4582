"""Dunning policies and who has which; one function, one statement, one transaction."""

from dataclasses import dataclass
from datetime import datetime, time

from anchorhold.domain.closing import FinalAction
from anchorhold.domain.dunning import Policy
from anchorhold.domain.ids import CustomerId, DunningPolicyId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class PolicyView:
    """A policy, and for how many it is: `is_default`, or customers of their own."""

    id: DunningPolicyId
    name: str
    waits_hours: tuple[int, ...]
    at: time | None
    zone: str
    final_action: FinalAction
    is_default: bool
    customers: int
    created_at: datetime


async def add(
    db: Db, scope: Scope, policy_id: DunningPolicyId, name: str, policy: Policy
) -> str | None:
    """The policy is there under this name; None: the name is taken."""
    return await db.one(
        """
        INSERT INTO anchorhold.dunning_policy
               (account_id, livemode, id, name, waits_hours, at, zone, final_action)
        VALUES (%(account_id)s, %(livemode)s, %(id)s, %(name)s, %(waits_hours)s, %(at)s,
                %(zone)s, %(final_action)s)
        ON CONFLICT ON CONSTRAINT dunning_policy_name DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        id=policy_id,
        name=name,
        waits_hours=list(policy.waits_hours),
        at=policy.at,
        zone=policy.zone,
        final_action=policy.final_action,
    )


async def assign(
    db: Db, scope: Scope, policy_id: DunningPolicyId, customer_id: CustomerId | None
) -> str | None:
    """The customer, or with None everybody who has none of its own, has the policy.

    Runs that are open keep theirs. None: there is no such policy.
    """
    return await db.one(
        """
        INSERT INTO anchorhold.dunning_assignment (account_id, livemode, customer_id, policy_id)
        SELECT p.account_id, p.livemode, %(customer_id)s, p.id
          FROM anchorhold.dunning_policy p
         WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
           AND p.id = %(policy_id)s
        ON CONFLICT ON CONSTRAINT dunning_assignment_once
        DO UPDATE SET policy_id = EXCLUDED.policy_id
        RETURNING policy_id
        """,
        str,
        **scope.params,
        policy_id=policy_id,
        customer_id=customer_id,
    )


async def is_on(db: Db, scope: Scope) -> bool:
    """Somebody of the account and mode has a policy."""
    found = await db.one(
        """
        SELECT EXISTS (
            SELECT FROM anchorhold.dunning_assignment
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s)
        """,
        bool,
        **scope.params,
    )
    return bool(found)


async def all_of(db: Db, scope: Scope) -> list[PolicyView]:
    """Every policy of the account and mode, in the order of their making."""
    return await db.all(
        """
        SELECT p.id, p.name, p.waits_hours, p.at, p.zone, p.final_action, p.created_at,
               count(a.policy_id) FILTER (WHERE a.customer_id IS NULL) > 0 AS is_default,
               count(a.customer_id)::int AS customers
          FROM anchorhold.dunning_policy p
          LEFT JOIN anchorhold.dunning_assignment a
            ON a.account_id = p.account_id AND a.livemode = p.livemode AND a.policy_id = p.id
         WHERE p.account_id = %(account_id)s AND p.livemode = %(livemode)s
         GROUP BY p.account_id, p.livemode, p.id
         ORDER BY p.id
        """,
        PolicyView,
        **scope.params,
    )

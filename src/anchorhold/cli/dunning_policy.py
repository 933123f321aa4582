"""`anchorhold dunning policy`: create, list, show, assign."""

from typing import Annotated

import typer

from anchorhold.cli import dunning_objects
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.lookup import the_customer
from anchorhold.cli.output import Column, Listing, line, say, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.closing import FinalAction, finish_of
from anchorhold.domain.dunning_policy import policy_of, waits_in_words
from anchorhold.domain.dunning_refusals import DunningCode
from anchorhold.domain.ids import DUNNING_POLICY
from anchorhold.domain.refusals import Refusal
from anchorhold.store import dunning_policies
from anchorhold.store.dunning_policies import PolicyView

app = noun(
    "When a declined charge is tried again, and how it ends.",
    "anchorhold dunning policy create gentle --waits 1d,3d,5d",
    "anchorhold dunning policy assign gentle",
)

Name = Annotated[str, typer.Argument(metavar="POLICY", help="Its name or id.")]


@verb(
    app,
    "create",
    "anchorhold dunning policy create gentle --waits 1d,3d,5d",
    "anchorhold dunning policy create office --waits 1d,4d --at 09:00 --zone Europe/Berlin",
)
async def create(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call it.")],
    *,
    waits: Annotated[
        str, typer.Option("--waits", help="The least wait after each decline: 12h, 3d; up to 7.")
    ],
    at: Annotated[
        str | None, typer.Option("--at", help="The time of day of a retry; without it, any.")
    ] = None,
    zone: Annotated[str, typer.Option("--zone", help="Whose time of day that is.")] = "UTC",
    final_action: Annotated[
        FinalAction, typer.Option("--final-action", help="What comes after the last decline.")
    ] = FinalAction.LEAVE,
) -> None:
    """Create a policy; nothing is tried again by it before it is assigned.

    A policy never changes: a run keeps the one that it began with. Create another one, and assign
    that.
    """
    policy = policy_of(waits, at, zone, final_action)
    async with session(call) as desk:
        (id_,) = desk.db.new_ids(DUNNING_POLICY, 1)
        if await dunning_policies.add(desk.db, desk.scope, id_, name, policy) is None:
            raise Refusal(DunningCode.DUNNING_POLICY_EXISTS, name=name)
        _show(call, desk, await the_policy(desk, id_))


@verb(
    app,
    "list",
    "anchorhold dunning policy list",
    "anchorhold dunning policy list --output json",
    listed=True,
)
async def list_(call: Call) -> None:
    """List the policies, and for whom they are."""
    async with session(call) as desk:
        await show_list(call, _listing(await dunning_policies.all_of(desk.db, desk.scope)))


def _listing(rows: list[PolicyView]) -> Listing[PolicyView]:
    """An account has a handful of them."""

    async def fetch(after: str | None, limit: int) -> list[PolicyView]:
        return [row for row in rows if after is None or row.id > after][:limit]

    async def total() -> int:
        return len(rows)

    return Listing(
        again="anchorhold dunning policy list",
        columns=(
            Column("id", lambda row: row.id),
            Column("name", lambda row: row.name),
            Column("waits", lambda row: waits_in_words(row.waits_hours)),
            Column("at", _time_of_day, from_width=90),
            Column("at the end", lambda row: row.final_action.replace("_", " ")),
            Column("for", _whom),
        ),
        id_of=lambda row: row.id,
        to_object=dunning_objects.dunning_policy,
        fetch=fetch,
        total=total,
        empty="Nothing is tried again: anchorhold dunning policy create NAME --waits 1d,3d,5d",
    )


@verb(
    app,
    "show",
    "anchorhold dunning policy show gentle",
    "anchorhold dunning policy show dpo_… --output json",
)
async def show(call: Call, name: Name) -> None:
    """Show one policy."""
    async with session(call) as desk:
        _show(call, desk, await the_policy(desk, name))


@verb(
    app,
    "assign",
    "anchorhold dunning policy assign gentle",
    "anchorhold dunning policy assign patient --customer acme",
)
async def assign(
    call: Call,
    name: Name,
    *,
    customer: Annotated[
        str | None, typer.Option("--customer", help="Only this one; without it, everybody.")
    ] = None,
) -> None:
    """Try failed invoices again by this policy, of one customer or of all that have none.

    Runs that are under way keep theirs. What has failed already has its run with the next tick.
    """
    async with session(call) as desk:
        policy = await the_policy(desk, name)
        whose = (await the_customer(desk, customer)).id if customer else None
        if await dunning_policies.assign(desk.db, desk.scope, policy.id, whose) is None:
            raise Refusal(DunningCode.DUNNING_POLICY_NOT_FOUND, id=name)
        say("The next tick opens a run for what has failed: anchorhold dunning list")
        _show(call, desk, await the_policy(desk, policy.id))


async def the_policy(desk: Session, name: str) -> PolicyView:
    """The policy with this name or id. Refuses: DUNNING_POLICY_NOT_FOUND."""
    for policy in await dunning_policies.all_of(desk.db, desk.scope):
        if name in {policy.id, policy.name}:
            return policy
    raise Refusal(DunningCode.DUNNING_POLICY_NOT_FOUND, id=name)


def _time_of_day(policy: PolicyView) -> str:
    return f"{policy.at:%H:%M} {policy.zone}" if policy.at else "any time"


def _whom(policy: PolicyView) -> str:
    named = f"{policy.customers:,} named" if policy.customers else ""
    everybody = "everybody without one" if policy.is_default else ""
    return ", ".join(whose for whose in (everybody, named) if whose) or "nobody yet"


def _show(call: Call, desk: Session, policy: PolicyView) -> None:
    def screen() -> None:
        print(f"{policy.id}  {policy.name}")
        line("Retries", f"after {waits_in_words(policy.waits_hours)}, {_time_of_day(policy)}")
        line("Then", f"{policy.final_action.replace('_', ' ')}: "
             f"{finish_of(policy.final_action).because}")  # fmt: skip
        line("For", _whom(policy))
        line("Made", desk.when.at(policy.created_at))

    show_one(call, policy.id, dunning_objects.dunning_policy(policy), screen)

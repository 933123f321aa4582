"""`anchorhold subscription`: create, list, show, pause, resume, cancel, renew."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from anchorhold.cli import billing_objects, subscribing, words
from anchorhold.cli.asking import ask
from anchorhold.cli.call import PAGE_MAX, TIMES, Call, Format, noun, verb
from anchorhold.cli.invoice_acts import require_words
from anchorhold.cli.lookup import the_customer
from anchorhold.cli.output import (
    Column,
    Listing,
    line,
    print_json,
    say,
    show_list,
    show_one,
)
from anchorhold.cli.session import Session, session
from anchorhold.cli.waking import wake
from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.invoice import Collection
from anchorhold.domain.refusals import Refusal
from anchorhold.engine import renew as renewing
from anchorhold.engine import subscribe as acts
from anchorhold.engine.subscribe import Asked, Ends
from anchorhold.store import views_customers, views_subscriptions
from anchorhold.store.views_subscriptions import SubscriptionView

app = noun(
    "Subscriptions: their periods are billed, each once, and collected as any invoice.",
    "anchorhold subscription list",
    "anchorhold subscription renew --dry-run --on 2027-01-01",
)

NAME = Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="Its id, or your reference.")]
YES = Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")]
DRY = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and do nothing.")]
WALL_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]


async def the_subscription(desk: Session, name: str) -> SubscriptionView:
    """The subscription with this id or reference. Refuses: subscription_not_found."""
    found = await views_subscriptions.one(desk.db, desk.scope, name)
    if found is None:
        raise Refusal(BillingCode.SUBSCRIPTION_NOT_FOUND, id=name)
    return found


@verb(
    app,
    "create",
    "anchorhold subscription create acme-plan --customer acme --price plan --yes",
    "anchorhold subscription create acme-seats --customer acme --price seat:5 --trial-days 14",
)
async def create(
    call: Call,
    reference: Annotated[str, typer.Argument(metavar="REFERENCE", help="Your name for it.")],
    *,
    customer: Annotated[
        str, typer.Option("--customer", help="Its id or reference; a new one is made.")
    ],
    price: Annotated[
        list[str], typer.Option("--price", help="A price, or PRICE:QUANTITY; may be repeated.")
    ],
    email: Annotated[str | None, typer.Option("--email", help="Of a new customer.")] = None,
    payment_method: Annotated[
        str | None, typer.Option("--payment-method", help="Of a new customer (pm_…).")
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option("--start", formats=WALL_TIMES, help="A time in the zone; now without it."),
    ] = None,
    trial_days: Annotated[
        int, typer.Option("--trial-days", min=0, max=730, help="Days before the first period.")
    ] = 0,
    anchor_day: Annotated[
        int | None, typer.Option("--anchor-day", help="Day of the month that periods begin on.")
    ] = None,
    zone: Annotated[str, typer.Option("--zone", help="For example Europe/Berlin.")] = "UTC",
    net_days: Annotated[
        int, typer.Option("--net-days", min=0, max=365, help="Days from invoice to charge.")
    ] = 0,
    collection: Annotated[
        Collection, typer.Option("--collection", help="manual: only a person collects.")
    ] = Collection.AUTO,
    yes: YES = False,
    dry_run: DRY = False,
) -> None:
    """Subscribe a customer to one or more prices.

    What is due is billed at once: the first period in advance, and every period since a start in
    the past, up to twelve. A later start, or a trial, bills nothing before.
    """
    counts = subscribing.quantities_of(price)
    begin = subscribing.Beginning(start, trial_days, anchor_day, zone)
    async with session(call) as desk:
        deps, scope = desk.app.deps, desk.scope
        rows = await acts.priced(deps, scope, counts)
        calendar = subscribing.calendar_for(rows, begin, desk.when.now)
        due = subscribing.due_now(calendar, rows, desk.when.now)
        act = subscribing.said(customer, rows, counts, calendar, due)
        if dry_run:
            say(f"would {act}")
            return
        ask(act, yes=yes)
        known = await views_customers.one(desk.db, scope, customer)
        name = known.reference if known else customer
        asked = Asked(reference, name, email, payment_method, counts, collection, net_days)
        made = await acts.subscribe(deps, scope, asked, rows, calendar)
        view = await the_subscription(desk, made)
        await renewing.renew_one(deps, scope, view, renewing.Renewed())
        await wake(desk.app, scope)
        await _show(call, desk, made)


async def _show(call: Call, desk: Session, name: str) -> None:
    view = await the_subscription(desk, name)
    entries = await views_subscriptions.entries(desk.db, desk.scope, view.id)
    data = billing_objects.subscription(view)
    data["entries"] = [billing_objects.entry(row) for row in entries]
    amount = sum(item.amount for item in view.priced)

    def screen() -> None:
        print(f"{view.id}  {view.reference}  {_status(desk, view)}")
        line("Customer", view.customer_reference)
        for item in view.priced:
            line("Price", f"{item.quantity} x {item.reference}")
        interval = view.calendar.interval
        line("Costs", f"{words.money(amount, view.currency)} every {interval}, {_billed(view)}")
        line("Next", _next(desk, view))
        for row in entries:
            line(desk.when.at(row.at), f"{_happened(row.what, row.detail)}  ({row.actor})")
        line("Invoices", f"anchorhold invoice list --customer {view.customer_id}")

    show_one(call, view.id, data, screen)


def _status(desk: Session, view: SubscriptionView) -> str:
    return subscribing.status(desk, view.starts_at, view.status.value, view.ends_at)


def _billed(view: SubscriptionView) -> str:
    return view.billing.replace("_", " ")


def _next(desk: Session, view: SubscriptionView) -> str:
    if view.next_at is None:
        return "nothing: it has ended"
    due = view.due
    if due.period is None:
        return f"ends {desk.when.at(due.at)}"
    start, end = words.exact(due.period.start), words.exact(due.period.end)
    said = f"period {start} to {end}, billed {desk.when.at(due.at)}"
    return said if view.pause_reason is None else f"nothing while it is paused; then {said}"


def _happened(what: str, detail: dict[str, object]) -> str:
    sentence = what.removeprefix("subscription.").replace("_", " ")
    facts = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in detail.items())
    return f"{sentence} ({facts})" if facts else sentence


@verb(
    app,
    "list",
    "anchorhold subscription list",
    "anchorhold subscription list --customer acme --output ids",
    listed=True,
)
async def list_(
    call: Call,
    *,
    customer: Annotated[
        str | None, typer.Option("--customer", help="Only those of this customer.")
    ] = None,
) -> None:
    """List subscriptions, newest first."""
    async with session(call) as desk:
        whose = (await the_customer(desk, customer)).id if customer else None
        again = "anchorhold subscription list" + (f" --customer {whose}" if whose else "")
        listing = Listing[SubscriptionView](
            again=again,
            columns=(
                Column("id", lambda row: row.id),
                Column("reference", lambda row: row.reference),
                Column("customer", lambda row: row.customer_reference, from_width=90),
                Column("status", lambda row: _status(desk, row)),
                Column("next", lambda row: desk.when.at(row.next_at), from_width=80),
            ),
            id_of=lambda row: row.id,
            to_object=billing_objects.subscription,
            fetch=lambda after, limit: views_subscriptions.page(
                desk.db, desk.scope, customer_id=whose, after=after, limit=limit
            ),
            total=lambda: views_subscriptions.count(desk.db, desk.scope, customer_id=whose),
            empty="No subscriptions yet: `anchorhold subscription create` makes one.",
        )
        await show_list(call, listing)


@verb(
    app,
    "show",
    "anchorhold subscription show acme-plan",
    "anchorhold subscription show sub_… -o json",
)
async def show(call: Call, name: NAME) -> None:
    """Show one subscription: what it costs, what comes next, what happened to it."""
    async with session(call) as desk:
        await _show(call, desk, name)


@verb(
    app,
    "pause",
    'anchorhold subscription pause acme-plan --reason "moving house" --yes',
    'anchorhold subscription pause acme-plan --reason "moving house" --dry-run',
)
async def pause(
    call: Call,
    name: NAME,
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why.")] = "",
    yes: YES = False,
    dry_run: DRY = False,
) -> None:
    """Bill nothing more until it is resumed.

    What comes due meanwhile is left out and never billed.
    """
    require_words(reason, "pause a subscription")
    async with session(call) as desk:
        view = await the_subscription(desk, name)
        if _asked(f"pause {view.reference}", yes=yes, dry_run=dry_run):
            view = await the_subscription(desk, view.id)
            await acts.pause(desk.app.deps, desk.scope, view, reason=reason)
            await _show(call, desk, view.id)


@verb(
    app,
    "resume",
    "anchorhold subscription resume acme-plan --yes",
    "anchorhold subscription resume acme-plan --dry-run",
)
async def resume(call: Call, name: NAME, *, yes: YES = False, dry_run: DRY = False) -> None:
    """Bill it again, from the first period on that comes due from now on."""
    async with session(call) as desk:
        view = await the_subscription(desk, name)
        due = acts.after_pause(view)
        left_out = due.number - view.next_number
        act = f"resume {view.reference}, next at {words.exact(due.at)}, {left_out} periods left out"
        if _asked(act, yes=yes, dry_run=dry_run):
            view = await the_subscription(desk, view.id)
            await acts.resume(desk.app.deps, desk.scope, view)
            await _show(call, desk, view.id)


@verb(
    app,
    "cancel",
    'anchorhold subscription cancel acme-plan --reason "no longer needed" --yes',
    'anchorhold subscription cancel acme-plan --at-period-end --reason "no longer needed" --yes',
)
async def cancel(
    call: Call,
    name: NAME,
    *,
    at_period_end: Annotated[
        bool, typer.Option("--at-period-end", help="It goes on to the end of its period.")
    ] = False,
    on: Annotated[
        datetime | None, typer.Option("--on", formats=TIMES, help="It goes on until then (UTC).")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why.")] = "",
    yes: YES = False,
    dry_run: DRY = False,
) -> None:
    """End a subscription: now, at the end of its period, or on a date.

    In arrears the part up to its end is billed. What was billed in advance stays as it is: void or
    refund that invoice if it is not wanted.
    """
    require_words(reason, "cancel a subscription")
    when = on.replace(tzinfo=UTC) if on else Ends.PERIOD_END if at_period_end else Ends.NOW
    async with session(call) as desk:
        view = await the_subscription(desk, name)
        ends_at = acts.end_of(view, when)
        if _asked(f"end {view.reference} at {words.exact(ends_at)}", yes=yes, dry_run=dry_run):
            view = await the_subscription(desk, view.id)
            await acts.cancel(desk.app.deps, desk.scope, view, ends_at, reason=reason)
            await wake(desk.app, desk.scope)
            await _show(call, desk, view.id)


def _asked(act: str, *, yes: bool, dry_run: bool) -> bool:
    """Whether to go on: a dry run says what would happen, everybody else is asked."""
    if dry_run:
        say(f"would {act}")
        return False
    ask(act, yes=yes)
    return True


@verb(
    app,
    "renew",
    "anchorhold subscription renew --dry-run --on 2027-01-01",
    "anchorhold subscription renew acme-plan --yes",
)
async def renew(
    call: Call,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[SUBSCRIPTION]", help="Its id, or your reference; all without."),
    ] = None,
    *,
    on: Annotated[
        datetime | None,
        typer.Option("--on", formats=TIMES, help="With --dry-run: what would be billed by then."),
    ] = None,
    yes: YES = False,
    dry_run: DRY = False,
) -> None:
    """Bill what is due, as each tick does; or say what would be billed by a date.

    For one subscription that was paused because too much was due at once, this is the word that
    bills all of it.
    """
    if on is not None and not dry_run:
        raise typer.BadParameter("--on is for --dry-run: nothing is billed before it is due.")
    async with session(call) as desk:
        until = on.replace(tzinfo=UTC) if on else desk.when.now
        bills = renewing.would_bill(desk.scope, await _due_by(desk, name, until), until)
        if dry_run or not bills:
            _say_bills(call, desk, bills)
            return
        ask(f"bill {len(bills)} periods that are due", yes=yes)
        if name is not None:
            view = await the_subscription(desk, name)
            await acts.bill_now(desk.app.deps, desk.scope, view)
        else:
            await renewing.renew(desk.app.deps, desk.scope)
        await wake(desk.app, desk.scope)
        _say_bills(call, desk, bills)


async def _due_by(desk: Session, name: str | None, until: datetime) -> list[SubscriptionView]:
    """One subscription, or all on which something is due by then."""
    if name is not None:
        return [await the_subscription(desk, name)]
    rows: list[SubscriptionView] = []
    after = None
    while page := await views_subscriptions.page(
        desk.db, desk.scope, customer_id=None, due_by=until, after=after, limit=PAGE_MAX
    ):
        rows += page
        after = page[-1].id
    return rows


def _say_bills(
    call: Call, desk: Session, bills: list[tuple[SubscriptionView, renewing.Bill]]
) -> None:
    bills = sorted(bills, key=lambda pair: (pair[1].at, pair[0].id))
    if call.format is not Format.TABLE:
        print_json(billing_objects.bills(bills))
        return
    for view, one in bills:
        period = f"{words.exact(one.period.start)} to {words.exact(one.period.end)}"
        amount = words.money(one.amount, view.currency)
        print(f"{view.reference}  {view.customer_reference}  {amount}  {period}")
    print(f"{len(bills):,} periods")

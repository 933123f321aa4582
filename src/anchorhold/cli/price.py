"""`anchorhold price`: create, list, show."""

from typing import Annotated

import typer

from anchorhold.cli import billing_objects, words
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.billing_refusals import BillingCode
from anchorhold.domain.ids import PRICE
from anchorhold.domain.money import Money
from anchorhold.domain.period import Interval
from anchorhold.domain.price import Billing, Price, Scheme
from anchorhold.domain.refusals import Refusal
from anchorhold.store import prices
from anchorhold.store.db import only
from anchorhold.store.prices import PriceView

app = noun(
    "What subscriptions cost: an amount, for a period, in advance or in arrears.",
    "anchorhold price list",
    "anchorhold price show plan",
)


@verb(
    app,
    "create",
    "anchorhold price create plan --amount 31.00 --currency eur --every month",
    "anchorhold price create seat --amount 5.00 --currency eur --every '3 months' --per-unit",
)
async def create(
    call: Call,
    reference: Annotated[str, typer.Argument(metavar="REFERENCE", help="Your name for it.")],
    *,
    amount: Annotated[str, typer.Option("--amount", help="For a period, as a decimal.")],
    currency: Annotated[str, typer.Option("--currency", help="For example eur.")],
    every: Annotated[str, typer.Option("--every", help="week, month, year, or '3 months'.")],
    per_unit: Annotated[
        bool, typer.Option("--per-unit", help="The amount is for each unit, not for all of them.")
    ] = False,
    in_arrears: Annotated[
        bool, typer.Option("--in-arrears", help="Billed when a period is over, not in advance.")
    ] = False,
) -> None:
    """Make a price. It never changes: what costs something else tomorrow is another price."""
    money = Money.parse(amount, currency)
    interval = Interval.parse(every)
    async with session(call) as desk:
        price = Price(
            only(desk.db.new_ids(PRICE, 1)),
            reference,
            money.currency,
            money.minor,
            Scheme.PER_UNIT if per_unit else Scheme.FLAT,
            interval,
            Billing.IN_ARREARS if in_arrears else Billing.IN_ADVANCE,
        )
        if await prices.create(desk.db, desk.scope, price) is None:
            raise Refusal(BillingCode.PRICE_EXISTS, reference=reference)
        _show(call, await the_price(desk, price.id))


async def the_price(desk: Session, name: str) -> PriceView:
    """The price with this id or reference. Refuses: price_not_found."""
    found = await prices.named(desk.db, desk.scope, [name])
    if not found:
        raise Refusal(BillingCode.PRICE_NOT_FOUND, id=name)
    return found[0]


def costs(view: PriceView) -> str:
    """ "31.00 EUR every month", "5.00 EUR a unit every 3 months"."""
    unit = " a unit" if view.scheme is Scheme.PER_UNIT else ""
    return f"{words.money(view.unit_amount, view.currency)}{unit} every {view.price.interval}"


def _show(call: Call, view: PriceView) -> None:
    def screen() -> None:
        print(f"{view.id}  {view.reference}  {costs(view)}")
        line("Billed", view.billing.replace("_", " "))

    show_one(call, view.id, billing_objects.price(view), screen)


@verb(
    app,
    "list",
    "anchorhold price list",
    "anchorhold price list --all --output ids",
    listed=True,
)
async def list_(call: Call) -> None:
    """List prices, newest first."""
    async with session(call) as desk:
        await show_list(call, _listing(desk))


def _listing(desk: Session) -> Listing[PriceView]:
    return Listing(
        again="anchorhold price list",
        columns=(
            Column("id", lambda row: row.id),
            Column("reference", lambda row: row.reference),
            Column("costs", costs, right=True),
            Column("billed", lambda row: row.billing.replace("_", " "), from_width=90),
        ),
        id_of=lambda row: row.id,
        to_object=billing_objects.price,
        fetch=lambda after, limit: prices.page(desk.db, desk.scope, after=after, limit=limit),
        total=lambda: prices.count(desk.db, desk.scope),
        empty="No prices yet: `anchorhold price create` makes one.",
    )


@verb(app, "show", "anchorhold price show plan", "anchorhold price show pri_… -o json")
async def show(
    call: Call,
    name: Annotated[str, typer.Argument(metavar="PRICE", help="Its id, or your reference.")],
) -> None:
    """Show one price."""
    async with session(call) as desk:
        _show(call, await the_price(desk, name))

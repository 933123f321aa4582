"""`anchorhold customer`: list, show, credit."""

from typing import Annotated

import typer

from anchorhold.cli import crediting, objects
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.lookup import the_customer
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.store import views_customers
from anchorhold.store.views_customers import CustomerView

app = noun(
    "Customers, and what they are at Stripe.",
    "anchorhold customer list",
    "anchorhold customer show acme",
)


def at_stripe(customer: CustomerView) -> str:
    """How far the customer is set up at the connected Stripe account."""
    if customer.refused_code:
        return f"refused: {customer.refused_code}"
    if customer.payment_method:
        return "ready"
    if customer.requested_method:
        return "being set up"
    return "no payment method"


@verb(
    app,
    "list",
    "anchorhold customer list",
    "anchorhold customer list --all --output ids",
    listed=True,
)
async def list_(call: Call) -> None:
    """List customers, newest first."""
    async with session(call) as desk:
        await show_list(call, _listing(desk))


def _listing(desk: Session) -> Listing[CustomerView]:
    return Listing(
        again="anchorhold customer list",
        columns=(
            Column("id", lambda row: row.id),
            Column("reference", lambda row: row.reference),
            Column("e-mail", lambda row: row.email or "-", from_width=110),
            Column("at Stripe", at_stripe),
            Column(
                "open invoices", lambda row: f"{row.open_invoices:,}", right=True, from_width=90
            ),
            Column("payment method", lambda row: row.payment_method or "-", from_width=140),
        ),
        id_of=lambda row: row.id,
        to_object=objects.customer,
        fetch=lambda after, limit: views_customers.page(
            desk.db, desk.scope, after=after, limit=limit
        ),
        total=lambda: views_customers.count(desk.db, desk.scope),
        empty="No customers yet: `anchorhold invoice import FILE` brings them.",
    )


@verb(app, "show", "anchorhold customer show acme", "anchorhold customer show cus_… -o json")
async def show(
    call: Call,
    name: Annotated[
        str, typer.Argument(metavar="CUSTOMER", help="Its id, your reference, or its Stripe id.")
    ],
) -> None:
    """Show one customer, and how far it is set up at Stripe."""
    async with session(call) as desk:
        customer = await the_customer(desk, name)

    def screen() -> None:
        print(f"{customer.id}  {customer.reference}  {at_stripe(customer)}")
        line("E-mail", customer.email or "-")
        line("Stripe id", customer.stripe_customer_id or "not made yet")
        line("Charged to", customer.payment_method or "nothing yet")
        if customer.requested_method and not customer.payment_method:
            line("To attach", customer.requested_method)
        if customer.refused_message:
            line("Stripe said", customer.refused_message)
        line("Invoices", f"{customer.open_invoices:,} open")
        line("All", f"anchorhold invoice list --customer {customer.id}")

    show_one(call, customer.id, objects.customer(customer), screen)


@verb(
    app,
    "credit",
    "anchorhold customer credit acme",
    'anchorhold customer credit acme --give 10.00 --currency eur --reason "late delivery" --yes',
)
async def credit(
    call: Call,
    name: Annotated[
        str, typer.Argument(metavar="CUSTOMER", help="Its id, your reference, or its Stripe id.")
    ],
    *,
    give: Annotated[str | None, typer.Option("--give", help="How much, as a decimal.")] = None,
    currency: Annotated[str, typer.Option("--currency", help="Of what is given.")] = "",
    reason: Annotated[str, typer.Option("--reason", help="Why; needed to give.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and give nothing.")
    ] = False,
) -> None:
    """Show a customer's credit, or give some.

    An invoice that credit covers wholly is settled with it instead of a charge. Less than an
    invoice is never taken.
    """
    async with session(call) as desk:
        customer = await the_customer(desk, name)
        if give is not None:
            gift = crediting.gift_of(give, currency, reason)
            await crediting.give(call, desk, customer, gift, yes=yes, dry_run=dry_run)
        await crediting.show(call, desk, customer)

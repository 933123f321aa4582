"""`anchorhold invoice`: import, list, show, story, collect, and what ends or changes one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from anchorhold.cli import (
    billing_objects,
    collecting,
    ending,
    importing,
    invoice_acts,
    linking,
    objects,
    story,
    words,
)
from anchorhold.cli.call import Call, Format, noun, verb
from anchorhold.cli.invoice_screen import head, show_screen
from anchorhold.cli.lookup import the_customer, the_invoice
from anchorhold.cli.output import Column, Listing, line, print_json, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.page_link import Locale
from anchorhold.engine.repair import look_once
from anchorhold.store import views_attempts, views_invoices, views_journal, views_payments
from anchorhold.store.views_invoices import InvoiceFilter, InvoiceView
from anchorhold.store.views_subscriptions import invoice_lines

app = noun(
    "Import, show and collect invoices; tell one's story.",
    "anchorhold invoice import invoices.csv",
    "anchorhold invoice list --status open",
)

NAME = typer.Argument(metavar="INVOICE", help="Its id, or your own reference.")
Name = Annotated[str, NAME]


@verb(
    app,
    "import",
    "anchorhold invoice import invoices.csv --dry-run",
    "anchorhold invoice import invoices.csv",
)
async def import_(
    call: Call,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file; - for stdin.")],
    *,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad rows out instead of refusing the file.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")
    ] = False,
) -> None:
    """Take in the invoices of a CSV file: all of its rows, or none.

    The first line names the columns, in any order: customer, amount, currency, due_date and
    reference, and if you like email and payment_method. An amount is a plain decimal (149.00), a
    due date a date (midnight UTC) or a time with its offset. customer is your own reference of
    the customer or a Stripe id (cus_…), reference your own name of the invoice: unique, so that
    the same file twice changes nothing. A reference that is there with another amount, currency
    or customer is named and left as it is.
    """
    judged = importing.read_file(file)
    importing.require_good(file, judged, skip_bad=skip_bad)
    async with session(call) as desk:
        await importing.run(call, desk, judged, dry_run=dry_run)


@verb(
    app,
    "list",
    "anchorhold invoice list --status open",
    "anchorhold invoice list --customer acme --output json",
    listed=True,
)
async def list_(
    call: Call,
    *,
    status: Annotated[InvoiceStatus | None, typer.Option("--status", help="Only these.")] = None,
    payment_status: Annotated[
        PaymentStatus | None, typer.Option("--payment-status", help="Only these.")
    ] = None,
    customer: Annotated[
        str | None, typer.Option("--customer", help="Only of this customer: id or reference.")
    ] = None,
) -> None:
    """List invoices, newest first."""
    async with session(call) as desk:
        found = await the_customer(desk, customer) if customer else None
        which = InvoiceFilter(status, payment_status, found.id if found else None)
        flags = [
            f" --status {status.value}" if status else "",
            f" --payment-status {payment_status.value}" if payment_status else "",
            f" --customer {customer}" if customer else "",
        ]
        await show_list(call, _listing(desk, which, "".join(flags)))


def _listing(desk: Session, which: InvoiceFilter, flags: str) -> Listing[InvoiceView]:
    return Listing(
        again=f"anchorhold invoice list{flags}",
        columns=_columns(desk),
        id_of=lambda row: row.id,
        to_object=lambda row: objects.invoice(row, desk.timing),
        fetch=lambda after, limit: views_invoices.page(
            desk.db, desk.scope, which, after=after, limit=limit
        ),
        total=lambda: views_invoices.count(desk.db, desk.scope, which),
        empty="No invoices fit." if flags else "No invoices yet: `anchorhold invoice import FILE`.",
    )


def _columns(desk: Session) -> Sequence[Column[InvoiceView]]:
    return (
        Column("id", lambda row: row.id),
        Column("reference", lambda row: row.reference, from_width=90),
        Column("amount", lambda row: words.money(row.amount_due, row.currency), right=True),
        Column("status", words.status, style=words.colour),
        Column("customer", lambda row: row.customer_reference, from_width=110),
        Column("due", lambda row: desk.when.at(row.due_at), from_width=140),
        Column("next", lambda row: words.next_step(row, desk.timing, desk.when), from_width=120),
    )


@verb(app, "show", "anchorhold invoice show inv_…", "anchorhold invoice show R-1001 -o json")
async def show(call: Call, name: Name) -> None:
    """Show one invoice: where it stands, what is known, what happens next.

    While something is under way Stripe is asked first, once a minute at most.
    """
    async with session(call) as desk:
        invoice = await the_invoice(desk, name)
        if await look_once(desk.app.deps, desk.scope, invoice.id) is not None:
            invoice = await the_invoice(desk, name)
        attempts = await views_attempts.page(
            desk.db, desk.scope, state=None, invoice_id=invoice.id, after=None, limit=5
        )
        payments = await views_payments.page(
            desk.db, desk.scope, invoice_id=invoice.id, after=None, limit=5
        )
        lines = await invoice_lines(desk.db, desk.scope, invoice.id)
    data = objects.invoice(invoice, desk.timing)
    data["lines"] = [billing_objects.invoice_line(row) for row in lines]
    data["attempts"] = [objects.attempt(row) for row in attempts]
    data["payments"] = [objects.payment(row) for row in payments]
    show_one(call, invoice.id, data, lambda: show_screen(desk, invoice, lines, attempts, payments))


@verb(app, "story", "anchorhold invoice story inv_…", "anchorhold invoice story R-1001 -o ndjson")
async def story_(call: Call, name: Name) -> None:
    """Tell what happened to one invoice: every act, by whom, by which rule, when (UTC)."""
    async with session(call) as desk:
        invoice = await the_invoice(desk, name)
        entries = await views_journal.of_invoice(desk.db, desk.scope, invoice.id)
    lines = [objects.entry(entry, story.sentence(entry)) for entry in entries]
    match call.format:
        case Format.TABLE:
            print(head(invoice))
            for entry in entries:
                print(story.line(entry))
            line("Next", words.next_step(invoice, desk.timing, desk.when))
        case Format.JSON:
            print_json({"object": "list", "data": lines, "has_more": False})
        case _:
            for row in lines:
                show_one(call, str(row["id"]), row, lambda: None)


@verb(
    app,
    "collect",
    "anchorhold invoice collect inv_… --dry-run",
    "anchorhold invoice collect R-1001 --yes --output json",
)
async def collect(
    call: Call,
    name: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and charge nothing.")
    ] = False,
) -> None:
    """Charge one invoice now, once.

    Says what it is about to do and asks; what it found is looked at again after the answer. It is
    refused while anything is under way, so that it can never be a second charge. Exit code 0 when
    the money came or is on its way, 3 when it was refused or declined, 5 when the answer is missing
    and Stripe will be asked.
    """
    async with session(call) as desk:
        await collecting.run(call, desk, name, yes=yes, dry_run=dry_run)


REASON = typer.Option("--reason", help="Why, for the invoice's story.")
Reason = Annotated[str, REASON]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and do nothing.")]


@verb(
    app,
    "void",
    'anchorhold invoice void inv_… --reason "made twice" --dry-run',
    'anchorhold invoice void R-1001 --reason "made twice" --yes',
)
async def void(
    call: Call, name: Name, *, reason: Reason, yes: Yes = False, dry_run: DryRun = False
) -> None:
    """Make an invoice void: it was never owed.

    Its PaymentIntent is cancelled at Stripe first. Refused while anything is under way, and when
    the customer paid meanwhile: exit code 3, with the hold's facts.
    """
    async with session(call) as desk:
        plan = invoice_acts.void(reason)
        await ending.run(call, desk, name, plan, yes=yes, dry_run=dry_run)


@verb(
    app,
    "write-off",
    "anchorhold invoice write-off inv_… --reason bankrupt --dry-run",
    "anchorhold invoice write-off R-1001 --reason bankrupt --yes",
)
async def write_off(
    call: Call, name: Name, *, reason: Reason, yes: Yes = False, dry_run: DryRun = False
) -> None:
    """Give an invoice up: nobody collects it any more.

    The way out when Stripe cannot be asked: with a charge that may be under way, Stripe is still
    asked about that, and money that arrives is recorded. Refused while a charge runs.
    """
    async with session(call) as desk:
        plan = invoice_acts.write_off(reason)
        await ending.run(call, desk, name, plan, yes=yes, dry_run=dry_run)


@verb(
    app,
    "paid-elsewhere",
    'anchorhold invoice paid-elsewhere R-1001 --reference "bank transfer 2026-11-30"',
    "anchorhold invoice paid-elsewhere inv_… --reference cash --yes --output json",
)
async def paid_elsewhere(
    call: Call,
    name: Name,
    *,
    reference: Annotated[str, typer.Option("--reference", help="How it was paid, for people.")],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Record that all that is due was paid outside of Stripe."""
    async with session(call) as desk:
        plan = invoice_acts.paid_elsewhere(reference)
        await ending.run(call, desk, name, plan, yes=yes, dry_run=dry_run)


@verb(
    app,
    "amend",
    'anchorhold invoice amend inv_… --amount 99.00 --reason "late delivery" --dry-run',
    'anchorhold invoice amend R-1001 --amount 0 --reason "all of it" --yes',
)
async def amend(
    call: Call,
    name: Name,
    *,
    amount: Annotated[str, typer.Option("--amount", help="The new total, as a decimal.")],
    reason: Reason,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Change what is due on an invoice.

    Its PaymentIntent is cancelled and the next is made for the new amount; with nothing left to
    pay the invoice is paid.
    """
    async with session(call) as desk:
        plan = invoice_acts.amend(amount, reason)
        await ending.run(call, desk, name, plan, yes=yes, dry_run=dry_run)


@verb(
    app,
    "abandon-intent",
    'anchorhold invoice abandon-intent inv_… --reason "account closed" --dry-run',
    'anchorhold invoice abandon-intent R-1001 --reason "account closed" --yes',
)
async def abandon_intent(
    call: Call, name: Name, *, reason: Reason, yes: Yes = False, dry_run: DryRun = False
) -> None:
    """Give up a PaymentIntent in a Stripe account that is not connected any more.

    The invoice gets the next one in the connected account. Whoever has the old one's secret can
    still pay it: be sure that nobody does. It is watched for 30 days.
    """
    async with session(call) as desk:
        plan = invoice_acts.abandon_intent(reason)
        await ending.run(call, desk, name, plan, yes=yes, dry_run=dry_run)


@verb(
    app,
    "link",
    "anchorhold invoice link inv_…",
    "anchorhold invoice link R-1001 --days 7 --locale de",
)
async def link(
    call: Call,
    name: Name,
    *,
    days: Annotated[int, typer.Option("--days", min=1, max=400, help="How long it opens.")] = 30,
    locale: Annotated[
        Locale | None, typer.Option("--locale", help="Of the page; else the browser's.")
    ] = None,
) -> None:
    """Make a link to the page where the customer sees and pays the invoice.

    Whoever has the link can open it, until it expires or is revoked. The page never takes a second
    payment: while a charge is being confirmed it says so and asks for nothing.
    """
    async with session(call) as desk:
        await linking.run(call, desk, name, days=days, locale=locale)

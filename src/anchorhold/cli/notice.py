"""`anchorhold notice`: list, show, resolve."""

from typing import Annotated

import typer

from anchorhold.cli import objects, words
from anchorhold.cli.asking import ask
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.lookup import the_notice
from anchorhold.cli.objects import Object
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.notices import about
from anchorhold.domain.refusals import Code, Exit, Refusal
from anchorhold.engine import notices
from anchorhold.store import views_notices
from anchorhold.store.views_notices import NoticeView

app = noun(
    "What needs a person.",
    "anchorhold notice list",
    "anchorhold notice show ntc_…",
    "anchorhold notice resolve ntc_… --refund",
)


@verb(
    app,
    "list",
    "anchorhold notice list",
    "anchorhold notice list --output json",
    listed=True,
)
async def list_(
    call: Call,
    *,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Those that somebody has dealt with.")
    ] = False,
) -> None:
    """List what needs a person, newest first: one line a fact, with its evidence."""
    async with session(call) as desk:
        await show_list(call, _listing(desk, resolved=resolved))


@verb(app, "show", "anchorhold notice show ntc_…", "anchorhold notice show ntc_… --output json")
async def show(call: Call, notice: Annotated[str, typer.Argument(help="The notice's id.")]) -> None:
    """Show one notice: what happened, its evidence, what to do, why it is not done by itself."""
    async with session(call) as desk:
        row = await the_notice(desk, notice)
        show_one(call, row.id, objects.notice(row), lambda: _screen(desk, row))


@verb(
    app,
    "resolve",
    "anchorhold notice resolve ntc_… --resolution 'credited on the next invoice'",
    "anchorhold notice resolve ntc_… --refund --yes",
)
async def resolve(
    call: Call,
    notice: Annotated[str, typer.Argument(help="The notice's id.")],
    *,
    resolution: Annotated[str, typer.Option("--resolution", help="How it was dealt with.")] = "",
    refund: Annotated[
        bool, typer.Option("--refund", help="Give back what the payment took too much.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before money moves.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and do nothing.")
    ] = False,
) -> None:
    """Resolve a notice with words that say how, or by giving the money back.

    With --refund it asks first, and looks again after the answer. Exit code 5: Stripe's answer is
    not known yet, the notice stays open, and the next tick asks.
    """
    async with session(call) as desk:
        row = await the_notice(desk, notice)
        if refund:
            await _by_refund(call, desk, row, resolution, yes=yes, dry_run=dry_run)
        elif not resolution.strip():
            raise Refusal(Code.RESOLUTION_MISSING, notice=row.id)
        else:
            if not dry_run:
                await notices.resolve(desk.app.deps, desk.scope, row.id, resolution)
            _show(call, "would be resolved" if dry_run else "resolved", row)


async def _by_refund(
    call: Call, desk: Session, row: NoticeView, resolution: str, *, yes: bool, dry_run: bool
) -> None:
    deps, scope = desk.app.deps, desk.scope
    payment = await notices.refundable(deps, scope, row)
    act = f"refund {words.money(payment.too_much, payment.currency)} of {payment.payment_id}"
    if dry_run:
        _show(call, f"would {act} ({scope.mode} mode)", row)
        return
    ask(f"{act} ({scope.mode} mode)", yes=yes)
    done = await notices.give_back(deps, scope, row.id, resolution)
    _show(call, "refunded and resolved" if done.resolved else "being confirmed with Stripe", row)
    if not done.resolved:
        raise typer.Exit(Exit.UNAVAILABLE)


def _show(call: Call, outcome: str, row: NoticeView) -> None:
    data: Object = {"object": "notice_act", "id": row.id, "code": row.code, "outcome": outcome}
    show_one(call, row.id, data, lambda: print(f"{row.id}  {row.code}  {outcome}"))


def _screen(desk: Session, row: NoticeView) -> None:
    said = about(row.code)
    print(f"{row.id}  {row.code}  {'resolved' if row.resolved_at else said.weight.value}")
    line("Happened", said.happened)
    line("To do", said.to_do)
    line("Why asked", said.because)
    if row.invoice_id is not None:
        line("Invoice", f"{row.invoice_id}  {row.invoice_reference}")
    line("Evidence", _evidence(row))
    for name, value in row.evidence.items():
        line("", f"{name}: {value}")
    line("Opened", desk.when.at(row.opened_at))
    if row.resolved_at is not None:
        line("Resolved", f"{desk.when.at(row.resolved_at)} by {row.resolved_by}: {row.resolution}")


def _listing(desk: Session, *, resolved: bool) -> Listing[NoticeView]:
    return Listing(
        again="anchorhold notice list" + (" --resolved" if resolved else ""),
        columns=(
            Column("id", lambda row: row.id, from_width=140),
            Column("invoice", lambda row: row.invoice_id or "-"),
            Column("what", lambda row: row.code),
            Column("evidence", _evidence, from_width=100),
            Column("opened", lambda row: desk.when.at(row.opened_at)),
        ),
        id_of=lambda row: row.id,
        to_object=objects.notice,
        fetch=lambda after, limit: views_notices.page(
            desk.db, desk.scope, resolved=resolved, after=after, limit=limit
        ),
        total=lambda: views_notices.count(desk.db, desk.scope, resolved=resolved),
        empty="Nothing was dealt with yet." if resolved else "Nothing needs a person.",
    )


def _evidence(row: NoticeView) -> str:
    amount, currency = row.evidence.get("amount"), row.evidence.get("currency")
    if isinstance(amount, int) and isinstance(currency, str):
        return f"{words.money(amount, currency)}  {row.evidence.get('stripe_intent_id') or ''}"
    return words.said(row.evidence)

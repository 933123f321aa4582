"""`anchorhold account`: accounts and their connection to Stripe."""

from collections.abc import Sequence
from typing import Annotated

import typer

from anchorhold.cli import objects
from anchorhold.cli.call import Call, Format, noun, verb
from anchorhold.cli.connecting import accepted, ask_for_key, connect, require_fit
from anchorhold.cli.linking import require_publishable
from anchorhold.cli.objects import Object
from anchorhold.cli.output import Column, console, line, print_json, show_one, table
from anchorhold.cli.session import opened, session
from anchorhold.cli.waking import wake
from anchorhold.domain.account import (
    AfterPresumedNone,
    ChargeMode,
    Modes,
    PaymentMethodType,
    SweepMode,
)
from anchorhold.domain.ids import ACCOUNT
from anchorhold.domain.refusals import Code, Refusal, WebhookCode
from anchorhold.engine.accounts import is_accepted
from anchorhold.entropy import new_id
from anchorhold.store import accounts, page_links
from anchorhold.store.accounts import Account
from anchorhold.store.db import Db

DEFAULT = "default"

app = noun(
    "Accounts and their connection to Stripe.",
    "anchorhold account connect",
    "anchorhold account list",
)

Name = Annotated[str, typer.Argument(help="The account's name.")]
Charge = Annotated[
    ChargeMode,
    typer.Option(
        help="prepared: confirm an intent made before. direct: create and confirm at once."
    ),
]
Sweep = Annotated[
    SweepMode,
    typer.Option(
        help="direct only. fence: prove by the key that nothing ran. adr: wait and presume."
    ),
]
After = Annotated[
    AfterPresumedNone,
    typer.Option(help="direct only. Who charges again after Stripe showed nothing for a day."),
]


def _charges(row: Account) -> str:
    direct = row.charge_mode is ChargeMode.DIRECT
    return f"direct/{row.sweep_mode.value}" if direct else row.charge_mode.value


COLUMNS: Sequence[Column[Account]] = (
    Column("id", lambda row: row.id),
    Column("name", lambda row: row.name),
    Column("mode", lambda row: _mode(row.livemode)),
    Column("stripe account", lambda row: row.stripe_account or "not connected"),
    Column("charges", _charges, from_width=100),
    Column("key", lambda row: f"…{row.key_last4}" if row.key_last4 else "-", from_width=90),
    Column("Stripe says", lambda row: row.refused_reason or "-", from_width=110),
)


def _mode(livemode: bool | None) -> str:  # noqa: FBT001 - it is the row's own column
    return {None: "-", True: "live", False: "test"}[livemode]


@verb(
    app,
    "create",
    "anchorhold account create",
    "anchorhold account create acme",
    scoped=False,
)
async def create(
    call: Call,
    name: Name = DEFAULT,
    charge_mode: Charge = ChargeMode.PREPARED,
    sweep_mode: Sweep = SweepMode.FENCE,
    after_presumed_none: After = AfterPresumedNone.RECHARGE,
) -> None:
    """Make an account.

    An account is one tenant: its customers, invoices and Stripe keys. `connect` makes one too.
    How it charges is explained in docs/concepts/modes.md; `set` changes it at any time.
    """
    require_fit(name)
    modes = Modes(charge_mode, sweep_mode, after_presumed_none)
    modes.require_sensible()
    async with opened() as process:
        made = await accounts.create(process.deps.db, new_id(ACCOUNT), name, modes)
    if made is None:
        raise Refusal(Code.ACCOUNT_EXISTS, name=name)
    data: Object = {"object": "account", "id": made, "name": name, **_modes(modes)}
    show_one(call, made, data, lambda: print(f"made account {name} ({made})"))


@verb(
    app,
    "set",
    "anchorhold account set --charge-mode direct",
    "anchorhold account set acme --charge-mode direct --sweep-mode adr",
    scoped=False,
)
async def set_(
    call: Call,
    name: Name = DEFAULT,
    charge_mode: Charge | None = None,
    sweep_mode: Sweep | None = None,
    after_presumed_none: After | None = None,
) -> None:
    """Change how an account charges; what is not named stays as it is.

    Safe at any time, with charges under way too: each attempt carries how it asked for money.
    """
    async with opened() as process:
        now = await _account(process.deps.db, name)
        modes = Modes(
            charge_mode or now.charge_mode,
            sweep_mode or now.sweep_mode,
            after_presumed_none or now.after_presumed_none,
        )
        modes.require_sensible()
        await accounts.set_modes(process.deps.db, now.id, modes)
    data: Object = {"object": "account", "id": now.id, "name": name, **_modes(modes)}
    show_one(call, now.id, data, lambda: print(f"{name} charges {_words(modes)}"))


@verb(
    app,
    "show",
    "anchorhold account show",
    "anchorhold account show acme --output json",
    scoped=False,
)
async def show(call: Call, name: Name = DEFAULT) -> None:
    """Show an account: how it charges, and which Stripe account it uses."""
    async with opened() as process:
        row = await _account(process.deps.db, name)

    def screen() -> None:
        print(f"{row.name}  {row.id}")
        line("Mode", _mode(row.livemode))
        line("Stripe", row.stripe_account or "not connected")
        line("Charges", _words(Modes(row.charge_mode, row.sweep_mode, row.after_presumed_none)))

    show_one(call, row.id, objects.account(row), screen)


async def _account(db: Db, name: str) -> Account:
    """The account with this name; of two modes the first. Raises Refusal: account_not_found."""
    for row in await accounts.all_accounts(db):
        if row.name == name:
            return row
    raise Refusal(Code.ACCOUNT_NOT_FOUND, id=name)


def _modes(modes: Modes) -> Object:
    return {
        "charge_mode": modes.charge.value,
        "sweep_mode": modes.sweep.value,
        "after_presumed_none": modes.after_presumed_none.value,
    }


def _words(modes: Modes) -> str:
    if modes.charge is ChargeMode.PREPARED:
        return "prepared: it confirms an intent that was made before"
    what = {
        SweepMode.FENCE: "a lost charge is proven by its key",
        SweepMode.ADR: "a lost charge that Stripe does not show is taken for none",
    }[modes.sweep]
    return f"directly: {what}; after a day of nothing: {modes.after_presumed_none.value}"


@verb(
    app,
    "connect",
    "ANCHORHOLD_STRIPE_KEY=sk_test_… anchorhold account connect",
    "anchorhold account connect acme --accept card --accept sepa_debit < key.txt",
    scoped=False,
)
async def connect_(
    call: Call,
    name: Name = DEFAULT,
    accept: Annotated[
        list[PaymentMethodType] | None,
        typer.Option("--accept", help="What customers may pay with; more than once."),
    ] = None,
) -> None:
    """Store a Stripe key for an account, made if it is not there; the key says which mode.

    The key comes from ANCHORHOLD_STRIPE_KEY, else from a hidden prompt, or from standard input
    when that is no terminal. Stripe is asked whether it accepts the key before it is stored,
    encrypted. A refusal of the last key is forgotten. Without `--accept` customers pay with what
    they paid with before, and with cards at first; PaymentIntents that are there stay as they are.
    """
    async with opened() as process:
        secret = ask_for_key(process)
        done = await connect(process, name, secret, tuple(accept) if accept else None)
        await wake(process, done.scope)
    account = done.scope.account_id
    mode = done.scope.mode
    data: Object = {
        "object": "connection",
        "id": account,
        "account_id": account,
        "name": name,
        "livemode": done.scope.livemode,
        "stripe_account": done.stripe_account,
        "key_last4": done.key_last4,
        "customers_waiting": done.waiting,
        "accepts": [one.value for one in accept] if accept else None,
    }

    def screen() -> None:
        print(f"{name} uses Stripe account {done.stripe_account} in {mode} mode")
        print(f"key …{done.key_last4}, stored encrypted; {done.waiting:,} customers to set up")

    show_one(call, account, data, screen)


@verb(
    app,
    "list",
    "anchorhold account list",
    "anchorhold account list --output json",
    scoped=False,
)
async def list_(call: Call) -> None:
    """List the accounts, a row for each mode that is connected."""
    async with opened() as process:
        rows = await accounts.all_accounts(process.deps.db)
    match call.format:
        case Format.JSON:
            data = [objects.account(row) for row in rows]
            print_json({"object": "list", "data": data, "has_more": False})
        case Format.TABLE:
            out = console()
            out.print(table(COLUMNS, rows, out.width) if rows else "no account yet")
        case _:
            for row in rows:
                show_one(call, row.id, objects.account(row), lambda: None)


@verb(app, "check", "anchorhold account check", "anchorhold account check --account acme --live")
async def check(call: Call) -> None:
    """Ask Stripe whether it accepts the stored key; lift the flag if it does again.

    While Stripe refuses a key, nothing is charged with it. A flag for a right that the key lacks
    (403) is lifted by this alone: run it when you have given the right. Exit code 2 when the key
    is refused.
    """
    async with session(call) as desk:
        provider = (await desk.connected()).provider
        deadline = provider.deadline(desk.timing.check_cut_seconds)
        owner = accepted(await provider.retrieve_account(deadline), desk.app.wires.base)
        await is_accepted(desk.app.deps, desk.scope, by_hand=True)
    data: Object = {
        "object": "connection",
        "id": desk.scope.account_id,
        "account_id": desk.scope.account_id,
        "livemode": desk.scope.livemode,
        "stripe_account": owner,
        "accepted": True,
    }
    mode = desk.scope.mode
    show_one(
        call, owner, data, lambda: print(f"Stripe accepts the {mode} mode key: account {owner}")
    )


@verb(
    app,
    "page",
    "anchorhold account page --publishable-key pk_test_…",
    'anchorhold account page --account acme --live --public-name "Acme GmbH"',
)
async def page(
    call: Call,
    *,
    publishable_key: Annotated[
        str | None,
        typer.Option("--publishable-key", help="Stripe's key for browsers (pk_…); no secret."),
    ] = None,
    public_name: Annotated[
        str | None, typer.Option("--public-name", help="What customers know the business as.")
    ] = None,
) -> None:
    """Set what the payment page needs: Stripe's publishable key, and the name of the business.

    What is not named stays as it is. Without a publishable key the page cannot take a payment.
    """
    if public_name is not None:
        require_fit(public_name)
    async with session(call) as desk:
        if publishable_key is not None:
            require_publishable(publishable_key, desk.scope.mode)
        owner = await page_links.present(
            desk.db, desk.scope, publishable_key=publishable_key, public_name=public_name
        )
        if owner is None:
            raise Refusal(
                WebhookCode.MODE_NOT_CONNECTED,
                account=call.account or desk.scope.account_id,
                mode=desk.scope.mode,
            )
    data: Object = {
        "object": "payment_page",
        "id": desk.scope.account_id,
        "livemode": desk.scope.livemode,
        "publishable_key": publishable_key,
        "public_name": public_name,
    }
    show_one(call, desk.scope.account_id, data, lambda: print("the payment page is set up"))

"""Warm worlds: what the real engine has prepared once is copied, row by row, for many worlds.

Setting customers up and preparing intents is the same in most worlds. One world of each kind does
it with the code that ships; others get its rows under their own account, and their Stripe hears
the same requests. A share of the worlds begins cold all the same.
"""

from dataclasses import dataclass

from anchorhold.domain.ids import ACCOUNT, AccountId, derive
from anchorhold.sim.ground import Ground
from anchorhold.sim.statements import statement
from anchorhold.twin import Request, Twin

AT_ONCE = 16
LEFT_OUT = frozenset({"journal"})
"""Only told; nothing is decided by it."""
SHARED = {"account": ("id", "name")}
"""Columns that hold the account's id, where it is not `account_id`."""


@dataclass(frozen=True, slots=True)
class Template:
    """A world that was prepared: its account, when that was done, and what its Stripe was sent."""

    account: str
    at: float
    invoices: tuple[str, ...]
    requests: tuple[Request, ...]
    twin_seed: str
    copying: bytes
    """One statement that copies all its rows to other accounts."""
    stock: list[AccountId]
    """Accounts that have its rows already."""


def copying(ground: Ground, account: str) -> bytes:
    """The statement that copies the rows that this account has now."""
    parts = [_copy("account", ["id", "name", *_columns(ground, "account")])]
    for table, columns in ground.run(statement("tables"), {}):
        asked = _text("has_rows").format(table=table).encode()
        if table not in LEFT_OUT and ground.run(asked, {"template": account})[0][0]:
            parts.append(_copy(table, columns))
    return _text("copies").format(parts=", ".join(parts)).encode()


def _text(name: str) -> str:
    return statement(name).decode()


def _columns(ground: Ground, table: str) -> list[str]:
    ((columns,),) = ground.run(statement("columns"), {"table": f"anchorhold.{table}"})
    return [column for column in columns if column not in SHARED[table]]


def _copy(table: str, columns: list[str]) -> str:
    own = SHARED.get(table, ("account_id",))
    return _text("copy").format(
        table=table,
        columns=", ".join(columns),
        values=", ".join("copies.account" if column in own else column for column in columns),
        owner=own[0],
    )


def account_of(ground: Ground, template: Template) -> AccountId:
    """An account with the template's rows that nobody has used; many are made at once."""
    if not template.stock:
        made = [derive(ACCOUNT, template.account, ground.number()) for _ in range(AT_ONCE)]
        given = {"template": template.account, "accounts": [str(one) for one in made]}
        ground.run(template.copying, given)
        template.stock.extend(made)
    return template.stock.pop()


def tell_stripe(twin: Twin, template: Template, account: str) -> None:
    """The twin has carried out what the template's was asked, for this account."""
    for request in template.requests:
        body = request.body.replace(template.account.encode(), account.encode())
        twin.handle(Request(request.method, request.path, request.headers, request.query, body))

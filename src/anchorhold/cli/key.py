"""`anchorhold key`: who may use the API, for which account and mode."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated

import typer

from anchorhold import keys, objects
from anchorhold.cli.asking import ask
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.output import Column, Listing, line, show_list, show_one
from anchorhold.cli.session import Session, session
from anchorhold.domain.api_key import GRANTS
from anchorhold.domain.ids import KEY
from anchorhold.store import api_keys
from anchorhold.store.api_keys import KeyRow

app = noun(
    "Keys of the API: create, list, rotate, revoke.",
    "anchorhold key create --name shop",
    "anchorhold key list",
)

OVERLAP_HOURS = 24
Id = Annotated[str, typer.Argument(metavar="KEY", help="Its id (key_…), never the key itself.")]


@verb(
    app,
    "create",
    "anchorhold key create --name shop",
    "anchorhold key create --name reports --grant invoices:read --grant payments:read",
)
async def create(
    call: Call,
    *,
    name: Annotated[str, typer.Option("--name", help="Who uses it, for people.")],
    grants: Annotated[
        list[str] | None,
        typer.Option("--grant", help="A right, such as invoices:read; again for more."),
    ] = None,
) -> None:
    """Make a key of the chosen account and mode; it is shown once.

    Without --grant it may do everything there (sk_…), else only what was granted (rk_…). Whoever
    may write may read.
    """
    async with session(call) as desk:
        row, text = await keys.create(
            desk.db, desk.scope, name=_fit(name), grants=tuple(grants or ())
        )
        _show(call, desk, row, text)


@verb(app, "list", "anchorhold key list", "anchorhold key list --live -o json", listed=True)
async def list_(call: Call) -> None:
    """List the keys of the account and mode, newest first, those that have ended too."""
    async with session(call) as desk:
        rows = await api_keys.all_of(desk.db, desk.scope)

        async def fetch(after: str | None, limit: int) -> list[KeyRow]:
            return [row for row in rows if after is None or row.id < after][:limit]

        async def total() -> int:
            return len(rows)

        await show_list(call, _listing(desk, fetch, total))


Fetch = Callable[[str | None, int], Awaitable[list[KeyRow]]]


def _listing(desk: Session, fetch: Fetch, total: Callable[[], Awaitable[int]]) -> Listing[KeyRow]:
    return Listing(
        again="anchorhold key list",
        columns=(
            Column("id", lambda row: row.id),
            Column("name", lambda row: row.name),
            Column("key", _shown),
            Column("state", lambda row: _state(desk, row)),
            Column("used", lambda row: desk.when.at(row.last_used_at)),
            Column("grants", lambda row: ", ".join(row.grants) or "all", from_width=120),
        ),
        id_of=lambda row: row.id,
        to_object=objects.key,
        fetch=fetch,
        total=total,
        empty="Nobody can use the API: anchorhold key create --name NAME",
    )


@verb(app, "rotate", "anchorhold key rotate key_…", "anchorhold key rotate key_… --hours 1")
async def rotate(
    call: Call,
    key: Id,
    *,
    hours: Annotated[
        int, typer.Option("--hours", min=0, max=168, help="How long the old one works as well.")
    ] = OVERLAP_HOURS,
) -> None:
    """Make a key like this one, which is shown once; this one works beside it for a while."""
    async with session(call) as desk:
        overlap_s = timedelta(hours=hours).total_seconds()
        row, text = await keys.rotate(desk.db, desk.scope, KEY.parse(key), overlap_s=overlap_s)
        _show(call, desk, row, text)


@verb(app, "revoke", "anchorhold key revoke key_…", "anchorhold key revoke key_… --yes")
async def revoke(
    call: Call,
    key: Id,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """End a key at once: the next request with it is refused."""
    async with session(call) as desk:
        row = await keys.the_key(desk.db, desk.scope, KEY.parse(key))
        ask(f"revoke the key {row.name} ({_shown(row)})", yes=yes)
        _show(call, desk, await keys.revoke(desk.db, desk.scope, row.id), None)


def _fit(name: str) -> str:
    """A name that a list can show; BadParameter, which is wrong usage, otherwise."""
    if not name.strip() or not name.isprintable() or len(name) > 80:
        raise typer.BadParameter("a name has 1 to 80 printable characters.")
    return name.strip()


def _shown(row: KeyRow) -> str:
    begin = "sk" if not row.grants else "rk"
    return f"{begin}_{'live' if row.livemode else 'test'}_…{row.last4}"


def _state(desk: Session, row: KeyRow) -> str:
    if row.revoked_at is not None:
        return f"revoked {desk.when.at(row.revoked_at)}"
    if row.expires_at is not None:
        return f"ends {desk.when.at(row.expires_at)}"
    return "works"


def _show(call: Call, desk: Session, row: KeyRow, text: str | None) -> None:
    data = objects.key(row)
    if text is not None:
        data["key"] = text

    def screen() -> None:
        line("Id", row.id)
        line("Name", row.name)
        line("May", ", ".join(row.grants) or f"everything ({len(GRANTS)} rights)")
        line("State", _state(desk, row))
        if text is not None:
            line("Key", text)
            line("", "It is shown only now. Send it as Authorization: Bearer …")

    show_one(call, row.id, data, screen)

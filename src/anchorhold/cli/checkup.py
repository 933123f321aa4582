"""What `doctor` looks at, one check after the other; what cannot be asked any more is left out."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from typing import Final

import psycopg

from anchorhold import settings as all_settings
from anchorhold.app import App, database, open_app, operator_actor
from anchorhold.cli.connecting import accepted, is_live, owner_of
from anchorhold.cli.scopes import named
from anchorhold.cli.session import load_settings
from anchorhold.domain.event_delivery import Verdict
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import RELATIONS, Timing
from anchorhold.entropy import wall_clock
from anchorhold.settings import STRIPE_API_BASE, Settings
from anchorhold.store import accounts, metrics, migrate, recoveries, views_events
from anchorhold.store import db as databases
from anchorhold.store.schema_health import faults
from anchorhold.store.views_events import DeliveryFilter
from anchorhold.store.vitals import Vitals, vitals
from anchorhold.stripe.api import API_VERSION

VERSION_MIN: Final = 15
APART_MAX: Final = timedelta(seconds=2)
FREE_MIN: Final = 1_000_000_000


NEEDED: Final = frozenset({"secret key", "database", "schema"})
"""What must be in order before the stored Stripe keys can be read."""


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found, and what to do about it."""

    level: Level
    check: str
    sentence: str
    next_step: str = ""


def _ok(check: str, sentence: str) -> Finding:
    return Finding(Level.OK, check, sentence)


def _no(check: str, refusal: Refusal) -> Finding:
    code = refusal.code.code
    return Finding(Level.REFUSED, check, f"{refusal.sentence} [{code}]", refusal.next_step)


async def examine() -> list[Finding]:
    """Every finding, in the order in which a start would meet them."""
    try:
        settings = load_settings()
    except Refusal as refusal:
        return [_no("timing" if refusal.code is Code.TIMING_UNSAFE else "settings", refusal)]
    found = [
        _ok("settings", "every ANCHORHOLD_ variable is known and readable"),
        _timing(settings.timing),
        _folder(settings),
        _secret_key(settings),
    ]
    found += await asyncio.to_thread(_database, settings)
    if not any(one.level is Level.REFUSED and one.check in NEEDED for one in found):
        found += [one async for one in _stripe(settings)]
    return found


def _timing(timing: Timing) -> Finding:
    changed = [row.name for row in fields(Timing) if getattr(timing, row.name) != row.default]
    word = f"{len(changed)} changed" if changed else "all as delivered"
    return _ok("timing", f"the times are safe together ({len(RELATIONS)} relations), {word}")


def _folder(settings: Settings) -> Finding:
    folder = settings.data_dir
    if not settings.embedded:
        return _ok("data folder", "not needed: the database is one of your own")
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        reason = "this user may not write in it"
        return _no("data folder", Refusal(Code.DATA_DIR_UNWRITABLE, path=folder, reason=reason))
    if there != folder:
        return _ok("data folder", f"{folder} will be made at the first start")
    free = shutil.disk_usage(folder).free
    if free < FREE_MIN:
        said = f"only {free // 1_000_000:,} MB are free in {folder}"
        return Finding(Level.WARNING, "data folder", said, "Free some space.")
    return _ok("data folder", f"{folder}, {free // 1_000_000_000:,} GB free")


def _secret_key(settings: Settings) -> Finding:
    try:
        all_settings.secret_key(settings)
    except Refusal as refusal:
        return _no("secret key", refusal)
    where = "ANCHORHOLD_SECRET_KEY" if settings.secret_key else settings.data_dir / "secret.key"
    return _ok("secret key", f"readable, from {where}; keep a copy of it")


def _database(settings: Settings) -> list[Finding]:
    try:
        conninfo = database(settings)
        databases.probe(conninfo)
        seen = vitals(conninfo)
    except Refusal as refusal:
        return [_no("database", refusal)]
    kind = "embedded PostgreSQL" if settings.embedded else "PostgreSQL"
    version = f"{seen.version // 10_000}.{seen.version % 10_000}"
    return [
        _version(seen, f"{kind} {version} answers"),
        *_durability(seen),
        _clock(seen),
        _schema(conninfo),
    ]


def _version(seen: Vitals, said: str) -> Finding:
    if seen.version < VERSION_MIN * 10_000:
        advice = f"Use PostgreSQL {VERSION_MIN} or newer."
        return Finding(Level.REFUSED, "database", f"{said}, which is too old", advice)
    if seen.in_recovery:
        advice = "Point ANCHORHOLD_DATABASE_URL to the primary."
        return Finding(Level.REFUSED, "database", f"{said}, but it is a standby", advice)
    return _ok("database", said)


def _durability(seen: Vitals) -> list[Finding]:
    """A commit that was acknowledged must survive, or a claim could be forgotten."""
    advice = "Switch it on in postgresql.conf and reload."
    off = [
        Finding(Level.REFUSED, "durability", f"{name} is {getattr(seen, name)}", advice)
        for name in ("fsync", "synchronous_commit", "full_page_writes")
        if getattr(seen, name) == "off"
    ]
    off += [Finding(Level.WARNING, "durability", *words) for words in _standbys(seen)]
    said = f"fsync, synchronous_commit ({seen.synchronous_commit}), full_page_writes are on"
    return off or [_ok("durability", said)]


def _standbys(seen: Vitals) -> list[tuple[str, str]]:
    """What a fail-over could lose. It is read back from Stripe then, but charging waits for it."""
    found: list[tuple[str, str]] = []
    if seen.async_standbys:
        said = f"{seen.async_standbys} standbys replicate asynchronously and can lose commits"
        found.append(
            (said, "Set synchronous_standby_names, or fail over to a synchronous one only.")
        )
    if seen.synchronous_standby_names and seen.synchronous_commit == "local":
        said = "synchronous_commit is local, so that no commit waits for the synchronous standby"
        found.append((said, "Set synchronous_commit to on."))
    if seen.unknown_standbys:
        said = f"this user is not told whether {seen.unknown_standbys} standbys are synchronous"
        found.append((said, "Look with a superuser, or GRANT pg_monitor to this user."))
    return found


async def _whole(process: App, scope: Scope) -> Finding:
    """Whether the rows are known to be whole, and a fail-over would be noticed (section 11)."""
    check = "recovery"
    look = await recoveries.look(process.deps.db, scope)
    if look is not None and not look.whole:
        why = look.failure or "it begins when a worker runs"
        said = f"{named(scope)} is charged nothing until Stripe was read for lost commits: {why}"
        return Finding(Level.REFUSED, check, said, "Run `anchorhold recover`.")
    if look is not None and "-" in look.lineage.split("/"):
        said = "the server does not tell its cluster or timeline: a fail-over goes unnoticed"
        return Finding(Level.WARNING, check, said, "Run `anchorhold recover --since` after one.")
    return _ok(check, f"{named(scope)} has every commit that was acknowledged")


def _clock(seen: Vitals) -> Finding:
    apart = abs(wall_clock() - seen.now)
    said = f"the database's clock and ours are {apart.total_seconds():.1f} s apart"
    if apart > APART_MAX:
        return Finding(Level.WARNING, "clocks", said, "Let both machines keep time by NTP.")
    return _ok("clocks", said)


def _schema(conninfo: str) -> Finding:
    try:
        migrate.require_current(conninfo)
    except Refusal as refusal:
        return _no("schema", refusal)
    with psycopg.connect(conninfo, autocommit=True) as connection:
        missing = faults(connection)
    if missing:
        advice = "Restore what is missing with the help of `anchorhold db sql`."
        return Finding(Level.REFUSED, "schema", "; ".join(missing), advice)
    return _ok("schema", f"{migrate.head()}, whole")


async def _stripe(settings: Settings) -> AsyncIterator[Finding]:
    """Where requests go, and whether each key is accepted there."""
    base = settings.stripe_api_base
    kind = "Stripe" if base == STRIPE_API_BASE else "not Stripe itself: a twin or a proxy"
    yield _ok("Stripe", f"requests go to {base} ({kind})")
    async with open_app(settings, actor=operator_actor()) as process:
        yield await _holds(process)
        scopes = await accounts.scopes(process.deps.db)
        flags = await _flags(process)
        for scope in scopes:
            yield await _whole(process, scope)
            found = await _key(process, scope)
            yield flags.get(scope, found) if found.level is Level.OK else found
            yield await _endpoint(process, scope)
        if not scopes:
            yield await _setting_key(process)


async def _holds(process: App) -> Finding:
    """What should have ended long ago, by the same times as the alarms."""
    seen = await metrics.holds(process.deps.db, process.settings.timing)
    counts = {
        "holds ended over ANCHORHOLD_HOLD_ALARM_SECONDS ago": seen.overdue,
        "parks are older than ANCHORHOLD_PARKED_ALARM_SECONDS": seen.overdue_parks_open,
        "unclear invoices have no hold": await metrics.parks_without_hold(process.deps.db),
    }
    if late := [f"{count:,} {what}" for what, count in counts.items() if count]:
        advice = "Run `anchorhold hold list`, then `anchorhold hold explain` for each."
        return Finding(Level.WARNING, "holds", "; ".join(late), advice)
    return _ok("holds", f"{seen.confirming + seen.parked:,} being confirmed, none overdue")


async def _flags(process: App) -> dict[Scope, Finding]:
    """The modes with which nothing is charged, though Stripe may accept their key for a read."""
    advice = "Give the key what SECURITY.md lists, then run `anchorhold account check`."
    return {
        Scope(row.id, row.livemode): Finding(
            Level.REFUSED,
            "Stripe key",
            f"nothing is charged for {row.name}, as Stripe refused its key: {row.refused_reason}",
            advice,
        )
        for row in await accounts.all_accounts(process.deps.db)
        if row.livemode is not None and row.refused_at is not None
    }


async def _key(process: App, scope: Scope) -> Finding:
    check = "Stripe key"
    connected = await process.providers.of(scope)
    if connected is None:
        said = f"the stored key of {named(scope)} cannot be opened with this secret key"
        advice = "Restore the secret key, or run `anchorhold account connect`."
        return Finding(Level.REFUSED, check, said, advice)
    provider = connected.provider
    deadline = provider.deadline(process.settings.timing.check_cut_seconds)
    try:
        owner = accepted(await provider.retrieve_account(deadline), process.wires.base)
    except Refusal as refusal:
        return _no(check, refusal)
    if owner != connected.stripe_account:
        said = f"the key of {named(scope)} is of {owner}, and {connected.stripe_account} is stored"
        return Finding(Level.REFUSED, check, said, "Run `anchorhold account connect`.")
    if scope.livemode and process.wires.base != STRIPE_API_BASE:
        said = f"live mode of {scope.account_id} goes to {process.wires.base}"
        return Finding(Level.WARNING, check, said, "Unset ANCHORHOLD_STRIPE_API_BASE.")
    return _ok(check, f"accepted for {named(scope)}: account {owner}")


async def _endpoint(process: App, scope: Scope) -> Finding:
    """In which API version Stripe's endpoint sends, by the last delivery that was believed."""
    check, last = "webhooks", DeliveryFilter(Verdict.GOOD)
    found = await views_events.deliveries(process.deps.db, scope, last, after=None, limit=1)
    if not found:
        return _ok(check, f"none came in for {named(scope)}; each tick reads Stripe's events")
    version = found[0].api_version or "none"
    if version != API_VERSION:
        said = f"Stripe's endpoint of {named(scope)} sends API version {version}, not {API_VERSION}"
        advice = "Its events are read all the same; make a new endpoint when you can."
        return Finding(Level.WARNING, check, said, advice)
    return _ok(check, f"{named(scope)} hears Stripe in API version {version}")


async def _setting_key(process: App) -> Finding:
    """Nothing is connected: the key in the settings is what a first start would use."""
    if process.settings.stripe_key is None:
        said = "no account is connected to Stripe"
        return Finding(Level.WARNING, "Stripe key", said, "Run `anchorhold account connect`.")
    secret = process.settings.stripe_key.get_secret_value()
    try:
        owner = await owner_of(process, secret)
    except Refusal as refusal:
        return _no("Stripe key", refusal)
    mode = "live" if is_live(secret) else "test"
    return _ok("Stripe key", f"ANCHORHOLD_STRIPE_KEY is accepted: account {owner}, {mode} mode")

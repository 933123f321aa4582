"""`anchorhold db`: the schema of the database."""

import sys
from typing import Annotated

import psycopg
import typer

from anchorhold.app import database
from anchorhold.cli.call import Call, noun, verb
from anchorhold.cli.objects import Object
from anchorhold.cli.output import say, show_one
from anchorhold.cli.session import load_settings
from anchorhold.domain.refusals import Code, Exit, Refusal
from anchorhold.settings import Settings
from anchorhold.store import db as databases
from anchorhold.store import migrate
from anchorhold.store.migrate_sql import script
from anchorhold.store.schema_health import faults

app = noun(
    "The database's schema: where it stands; bring it up.",
    "anchorhold db status",
    "anchorhold db up",
)


def reach(settings: Settings) -> str:
    """How the database is reached; refuses one that does not answer."""
    conninfo = database(settings)
    databases.probe(conninfo)
    return conninfo


@verb(app, "status", "anchorhold db status", "anchorhold db status --output json", scoped=False)
def status(call: Call) -> None:
    """Say which schema the database has, and which this version needs.

    Changes nothing. `anchorhold db up` brings an older one up.
    """
    found, needed = migrate.status(reach(load_settings()))
    pending = _pending(found)
    data: Object = {
        "object": "schema",
        "id": found,
        "found": found,
        "needed": needed,
        "pending": pending,
    }

    def screen() -> None:
        print(f"schema {found or 'none'}, this version needs {needed}")
        print(f"to be run: {', '.join(pending)}" if pending else "nothing to be done")

    show_one(call, found or "", data, screen)


@verb(app, "up", "anchorhold db up", "anchorhold db up --dry-run", scoped=False)
def up(
    call: Call,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be run, and change nothing.")
    ] = False,
) -> None:
    """Bring the schema to this version.

    Several processes may do it at once: one runs each step, in one transaction, and the others
    wait.
    """
    conninfo = reach(load_settings())
    done = bring_up(conninfo, dry_run=dry_run)
    at = migrate.status(conninfo)[0]
    data: Object = {
        "object": "schema",
        "id": at,
        "found": at,
        "run": list(done),
        "dry_run": dry_run,
    }

    def screen() -> None:
        word = "would run" if dry_run else "ran"
        print(f"{word} {', '.join(done)}" if done else f"nothing to be done, the schema is {at}")

    show_one(call, at or "", data, screen)


@verb(app, "sql", "anchorhold db sql > schema.sql", "anchorhold db sql | less", scoped=False)
def sql(call: Call) -> None:
    """Print the SQL of all the steps, and run nothing.

    For reviews, and for databases that only a person may change. Needs no database.
    """
    del call
    sys.stdout.write(script())


@verb(app, "validate", "anchorhold db validate", "anchorhold db validate -o json", scoped=False)
def validate(call: Call) -> None:
    """Check that the schema is this version's and whole; exit code 6 when it is not.

    Looks at the revision, at tables, indexes and constraints that are missing, and at indexes and
    constraints that PostgreSQL does not enforce.
    """
    with psycopg.connect(reach(load_settings()), autocommit=True) as connection:
        found = faults(connection)
    data: Object = {"object": "validation", "id": None, "faults": found}

    def screen() -> None:
        print("\n".join(found) if found else "the schema is whole")

    show_one(call, "", data, screen)
    if found:
        say(f"{len(found)} faults; `anchorhold db up` mends an old schema")
        raise typer.Exit(Exit.FINDINGS)


def bring_up(conninfo: str, *, dry_run: bool = False) -> tuple[str, ...]:
    """The schema is this version's; the steps that were run, or with `dry_run` would be.

    Refuses a schema that a newer version made (SCHEMA_NEWER).
    """
    found, needed = migrate.status(conninfo)
    if found is not None and found not in migrate.revisions():
        raise Refusal(Code.SCHEMA_NEWER, found=found, needed=needed)
    return tuple(_pending(found)) if dry_run else migrate.upgrade(conninfo)


def _pending(found: str | None) -> list[str]:
    known = migrate.revisions()
    return list(known[known.index(found) + 1 :] if found in known else known)

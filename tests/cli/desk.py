"""Runs command lines in this process or as a program, and brings rows into a state."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from anchorhold.app import open_app
from anchorhold.cli import main
from anchorhold.cli.session import load_settings
from anchorhold.domain.attempt import AttemptKind
from anchorhold.domain.ids import AccountId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.domain.timing import Timing
from anchorhold.engine.prepare import prepare_intent, set_up_customer
from anchorhold.store import customers, holds, intents
from anchorhold.twin import SECRET_KEY

PROGRAM = Path(sys.executable).parent / "anchorhold"
KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
HEADER = "customer,email,payment_method,amount,currency,due_date,reference"
CSV = f"""{HEADER}
acme,a@example.com,pm_card_visa,149.00,eur,2026-11-01,R-1
acme,,,5000,jpy,2026-11-01,R-2
kuw,k@example.com,pm_card_visa,10.000,kwd,2099-01-01,R-3
"""


def url_of(conninfo: str) -> str:
    """The same database as an address."""
    parts = {name: str(value) for name, value in conninfo_to_dict(conninfo).items()}
    name = parts.pop("dbname")
    return f"postgresql:///{name}?{urlencode(parts)}"


def environment(conninfo: str, stripe: str) -> dict[str, str]:
    """The settings of a machine with this database and this Stripe."""
    return {
        "ANCHORHOLD_DATABASE_URL": url_of(conninfo),
        "ANCHORHOLD_SECRET_KEY": KEY,
        "ANCHORHOLD_STRIPE_API_BASE": stripe,
        "ANCHORHOLD_DATABASE_POOL": "2",
        "NO_COLOR": "1",
    }


@dataclass(frozen=True)
class Ran:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of data, without the blanks at their ends."""
        return [line.rstrip() for line in self.out.splitlines()]

    def json(self) -> Any:
        """The data, as JSON."""
        return json.loads(self.out)

    def ndjson(self) -> list[Any]:
        """The data, one object a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def program(*args: str, env: dict[str, str] | None = None, stdin: str = "") -> Ran:
    """The real program, in a process of its own, with nothing else of ours in its environment."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [PROGRAM, *args],
        env={**kept, "LC_ALL": "C.UTF-8", **(env or {})},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


class Desk:
    """One machine's command line, and a hand in its database."""

    def __init__(
        self,
        conninfo: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.conninfo = conninfo
        self.monkeypatch = monkeypatch
        self._capsys = capsys

    def run(self, *args: str) -> Ran:
        """One command line, in this process."""
        self._capsys.readouterr()
        code = main.run(args)
        said = self._capsys.readouterr()
        return Ran(code, said.out, said.err)

    def table(self, *args: str) -> list[str]:
        """What a command that works prints for people."""
        ran = self.run(*args, "--output", "table")
        assert ran.code == 0, ran.err
        return ran.lines

    def connect(self, *name: str) -> Ran:
        """The account is connected to the twin in test mode."""
        self.monkeypatch.setenv("ANCHORHOLD_STRIPE_KEY", SECRET_KEY)
        ran = self.run("account", "connect", *name)
        self.monkeypatch.delenv("ANCHORHOLD_STRIPE_KEY")
        assert ran.code == 0, ran.err
        return ran

    def take_in(self, folder: Path, text: str = CSV, *flags: str) -> Ran:
        """The file is imported."""
        file = folder / "invoices.csv"
        file.write_text(text, encoding="utf-8")
        return self.run("invoice", "import", str(file), *flags)

    def sql(self, statement: str, *values: object) -> list[Any]:
        """Rows of any statement."""
        with psycopg.connect(self.conninfo, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def id_of(self, reference: str) -> InvoiceId:
        """The id of the invoice with this reference."""
        ((found,),) = self.sql("SELECT id FROM anchorhold.invoice WHERE reference = %s", reference)
        return InvoiceId(found)

    def scope(self) -> Scope:
        """The only account, in test mode."""
        ((account,),) = self.sql("SELECT id FROM anchorhold.account")
        return Scope(AccountId(account), livemode=False)

    def claim(self, reference: str, *, ended: str | None = None) -> InvoiceId:
        """A worker took the hold and died; with `ended` that hold ended so long ago."""
        invoice = self.id_of(reference)
        asyncio.run(self._claim(invoice))
        if ended:
            for table, column in (("invoice", "id"), ("attempt", "invoice_id")):
                self.sql(
                    f"UPDATE anchorhold.{table} SET hold_until = clock_timestamp() - %s::interval"
                    f" WHERE {column} = %s",
                    *(ended, invoice),
                )
            self.sql(
                "UPDATE anchorhold.invoice i SET hold_until = a.hold_until"
                " FROM anchorhold.attempt a WHERE a.id = i.hold_attempt AND i.id = %s",
                invoice,
            )
        return invoice

    async def _claim(self, invoice: InvoiceId) -> None:
        scope = self.scope()
        async with open_app(load_settings(), actor="worker:host:1") as process:
            connected = await process.providers.of(scope)
            assert connected is not None
            deps = process.deps
            for customer in await customers.take_unready(deps.db, scope, limit=9):
                await set_up_customer(deps, connected, scope, customer)
            for unprepared in await intents.take_unprepared(deps.db, scope, limit=9):
                await prepare_intent(deps, connected, unprepared)
            claim = await holds.claim(
                deps.db, scope, Timing(), invoice, AttemptKind.COLLECT, actor=deps.actor
            )
            assert claim is not None

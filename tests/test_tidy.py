"""The house rules hold in every file, and each rule finds what it is there for."""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests import tidy
from tests.tidy import RULES, Finding, Source

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "anchorhold"
SOURCES = [Source.read(path, PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]

TEXTS = [
    path
    for folder in ("src", "tests", "bench", "docs", "examples")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".toml", ".csv", ".sql", ".html", ".css", ".txt", ".sh"}
    and "static" not in path.parts
] + [path for path in ROOT.iterdir() if path.suffix in {".md", ".toml"} or path.name == "Makefile"]

Rule = Callable[[Source], Iterator[Finding]]

BAD: dict[Rule, list[tuple[str, str]]] = {
    tidy.short_files: [("engine/charge.py", "x = 1\n" * 401)],
    tidy.short_functions: [
        ("engine/charge.py", "def f():\n" + "    x = 1\n" * 60),
        ("engine/charge.py", "class C:\n    async def f(self):\n" + "        x = 1\n" * 60),
    ],
    tidy.stripe_in_its_room: [
        ("engine/charge.py", "import stripe"),
        ("web/app.py", "from stripe import StripeClient"),
        ("worker/run.py", "def f():\n    import stripe.util as s"),
    ],
    tidy.sql_in_its_room: [
        ("engine/charge.py", 'db.one("SELECT 1")'),
        ("cli/main.py", 'db.run("""\n    WITH pick AS (SELECT 1) SELECT * FROM pick""")'),
        ("web/app.py", 'Q = f"UPDATE invoice SET {x} = 1"'),
        ("worker/run.py", 'cursor.execute("INSERT INTO t VALUES (1)")'),
        ("cli/run.py", 'q = "DELETE " "FROM t WHERE true"'),
    ],
    tidy.clock_and_dice: [
        ("engine/charge.py", "from datetime import datetime as dt\ndt.now()"),
        ("store/holds.py", "import time as t\nx = t.time()"),
        ("web/app.py", "from time import time\ndef f(clock=time): ..."),
        ("cli/main.py", "import random\nrandom.random()"),
        ("stripe/api.py", "from uuid import uuid4\nuuid4()"),
        ("postgres/server.py", "import secrets\nsecrets.token_hex()"),
    ],
    tidy.whole_money: [("domain/money.py", "float('1')"), ("store/holds.py", "x = float(y)")],
    tidy.latest_charge_only: [
        ("engine/sweep.py", "intent.charges.data"),
        ("stripe/views.py", 'intent["charges"]'),
        ("stripe/views.py", 'intent.get("charges", [])'),
    ],
    tidy.pure_domain: [
        ("domain/hold.py", "import psycopg"),
        ("domain/hold.py", "from anchorhold.store import holds"),
        ("domain/hold.py", "from ..store import holds"),
        ("domain/hold.py", "from anchorhold import entropy"),
        ("domain/period.py", "import dateutils"),
        ("domain/hold.py", "async def f(): ..."),
    ],
    tidy.strangers_know_nobody: [
        ("twin/clock.py", "from anchorhold.domain import money"),
        ("postgres/server.py", "import anchorhold.settings"),
        ("twin/clock.py", "from ..postgres import server"),
    ],
    tidy.engine_by_hand: [
        ("engine/tick.py", "import asyncio"),
        ("engine/tick.py", "from asyncio import sleep"),
        ("engine/tick.py", "import time"),
    ],
    tidy.silence_has_a_reason: [
        ("cli/main.py", "x = 1  # " + "noqa"),
        ("cli/main.py", "x = 1  # " + "noqa: S603, S607"),
        ("cli/main.py", "x = 1  # " + "type: ignore[arg-type]"),
        ("cli/main.py", "x = 1  # " + "pyrefly: ignore[bad-argument-type] -"),
    ],
    tidy.no_banners: [("cli/main.py", "# " + "-" * 20), ("cli/main.py", "# ==== parts ====")],
}
"""What each rule must find: path and source."""

GOOD: dict[Rule, list[tuple[str, str]]] = {
    tidy.short_files: [("engine/charge.py", "x = 1\n" * 400)],
    tidy.short_functions: [("engine/charge.py", "def f():\n" + "    x = 1\n" * 59)],
    tidy.stripe_in_its_room: [
        ("stripe/api.py", "import stripe"),
        ("engine/charge.py", "from anchorhold.stripe.port import Provider"),
        ("web/app.py", "from .stripe import intake"),
    ],
    tidy.sql_in_its_room: [
        ("store/holds.py", 'db.one("SELECT 1")'),
        ("postgres/server.py", 'q = "SELECT 1"'),
        ("cli/main.py", 'def f():\n    """UPDATE an invoice."""\n    return "Update it"'),
        ("cli/main.py", 'help = "SELECTED rows"'),
    ],
    tidy.clock_and_dice: [
        ("entropy.py", "import time\ntime.time_ns()"),
        ("twin/clock.py", "import time\ntime.time()"),
        ("stripe/breaker.py", "import time\ntime.monotonic()"),
        ("store/holds.py", "from datetime import datetime\ndatetime.fromisoformat('x')"),
        ("store/holds.py", "row.now()\nclock.time()"),
    ],
    tidy.whole_money: [
        ("domain/timing.py", "x: float = 1.0"),
        ("stripe/limiter.py", "float('1')"),
    ],
    tidy.latest_charge_only: [
        ("stripe/api.py", "client.v1.charges.list_async()"),
        ("twin/state.py", "self.charges"),
        ("stripe/api.py", "'/v1/charges'\nintent.latest_charge"),
    ],
    tidy.pure_domain: [
        ("domain/period.py", "from dateutil.relativedelta import relativedelta"),
        (
            "domain/hold.py",
            "import re\nfrom anchorhold.domain.ids import InvoiceId\nfrom . import ids",
        ),
    ],
    tidy.strangers_know_nobody: [
        ("twin/clock.py", "from anchorhold.twin import state\nfrom . import faults\nimport aiohttp")
    ],
    tidy.engine_by_hand: [("engine/tick.py", "from anchorhold.store import holds")],
    tidy.silence_has_a_reason: [
        ("cli/main.py", "x = 1  # " + "noqa: S603 - our own words and paths"),
        ("cli/main.py", "x = 1  # " + "type: ignore[arg-type]  # that is the point"),
        ("cli/main.py", 'x = "# ' + 'noqa"  # why not'),
    ],
    tidy.no_banners: [("cli/main.py", "# a - b -- c"), ("cli/main.py", 'x = "-----"')],
}
"""What each rule must leave alone."""


def cases(table: dict[Rule, list[tuple[str, str]]]) -> list[tuple[Rule, str, str]]:
    return [(rule, path, text) for rule, rows in table.items() for path, text in rows]


def name(value: object) -> str:
    return value.__name__ if callable(value) else str(value)[:24]


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_every_file_keeps_the_rule(rule: Rule) -> None:
    broken = [
        f"src/anchorhold/{source.path}:{line}: {what}"
        for source in SOURCES
        for line, what in rule(source)
    ]
    assert not broken, f"{rule.__doc__}\n" + "\n".join(broken)


@pytest.mark.parametrize("rule", [tidy.unfinished, tidy.machine_paths], ids=name)
def test_every_text_keeps_the_rule(rule: Callable[[str], Iterator[Finding]]) -> None:
    broken = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in TEXTS
        for line, what in rule(path.read_text("utf-8"))
    ]
    assert not broken, f"{rule.__doc__}\n" + "\n".join(broken)


def test_there_are_files_to_look_at() -> None:
    assert PurePosixPath("domain/money.py") in {source.path for source in SOURCES}
    assert {ROOT / "README.md", PACKAGE / "settings.py", Path(__file__).resolve()} <= set(TEXTS)


def test_every_rule_has_its_cases() -> None:
    assert set(BAD) == set(GOOD) == set(RULES)


@pytest.mark.parametrize(("rule", "path", "text"), cases(BAD), ids=name)
def test_a_rule_finds_what_it_is_there_for(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(PurePosixPath(path), text)))


@pytest.mark.parametrize(("rule", "path", "text"), cases(GOOD), ids=name)
def test_a_rule_leaves_the_rest_alone(rule: Rule, path: str, text: str) -> None:
    assert not list(rule(Source(PurePosixPath(path), text)))


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"])
def test_notes_about_unfinished_work_are_found(word: str) -> None:
    assert list(tidy.unfinished(f"x = 1  # {word}: later"))
    assert not list(tidy.unfinished(f"{word.lower()} a{word}a"))


@pytest.mark.parametrize("folder", ["wo" + "rk", "ro" + "ot", "tm" + "p"])
def test_paths_of_one_machine_are_found(folder: str) -> None:
    assert list(tidy.machine_paths(f"see /{folder}/file"))
    assert not list(tidy.machine_paths(f"see docs/{folder}/file or /{folder} or /srv/{folder}/x"))

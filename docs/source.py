"""What the source files say about themselves: docstrings of fields, and which noun is where."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOMS: Final = ("domain", "store", "stripe", "engine", "worker", "cli")

NOUNS: Final = {
    "account": ("account", "accounts"),
    "customer": ("customer", "customers", "blocked", "views_customers"),
    "invoice": ("invoice", "invoices", "imports", "invoice_file", "views_invoices"),
    "intent": ("intent", "intents", "preparing", "prepare"),
    "hold": ("hold", "holds", "access", "next_check", "views_holds"),
    "attempt": ("attempt", "attempts", "outcome", "charge", "collect", "views_attempts"),
    "sweep": ("sweep", "checks", "evidence", "check"),
    "following": ("following", "follow", "follows", "ladder", "look", "repair", "repairs"),
    "watching": ("watching", "watch", "watches"),
    "recovery": ("recovering", "recoveries", "lost_intents", "recover", "recover_acts"),
    "close": (
        *("closing", "closes", "final_writes", "own_hold", "ending", "close", "amend", "abandon"),
        *(
            "final_action",
            "invoice_acts",
            "credit",
            "credits",
            "crediting",
            "page",
            "pages",
            "ready",
        ),
    ),
    "payment": ("payment", "payments", "views_payments"),
    "refund": ("refund", "refunds", "views_refunds"),
    "dispute": ("disputes",),
    "event": ("event", "news", "events", "event_cursors", "audit", "views_events"),
    "notice": ("notice", "notices", "views_notices"),
    "journal": ("journal", "views_journal", "story"),
    "decline": ("declines",),
    "dunning": (
        *("dunning", "dunning_policy", "dunning_policies", "dunning_steps", "dunning_acts"),
        *("dunning_refusals", "views_dunning"),
    ),
    "money": ("money", "currencies"),
    "time": ("timing", "tick"),
}
"""Each noun and the names that its files have."""


def docstrings_of(path: Path, name: str) -> dict[str, str]:
    """The docstring below each field or member of the class, without line breaks."""
    tree = ast.parse(path.read_text("utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return {field: " ".join(text.split()) for found in classes for field, text in _described(found)}


def _described(found: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node, below in pairwise(found.body):
        match node, below:
            case (
                ast.Assign(targets=[ast.Name(id=field)]) | ast.AnnAssign(target=ast.Name(id=field)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield field, text


def files_of(package: Path, noun: str, room: str) -> list[Path]:
    """The files of a noun in a room, in the order in which its names are listed."""
    paths = (package / room / f"{stem}.py" for stem in NOUNS[noun])
    return [path for path in paths if path.is_file()]


def is_read(package: Path, field: str) -> bool:
    """Some file of the package reads this field of the times."""
    wanted = f"timing.{field}"
    return any(wanted in path.read_text("utf-8") for path in package.rglob("*.py"))

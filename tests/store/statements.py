"""Every SQL statement of the store, found in its source."""

import ast
import importlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

PACKAGE = Path(__file__).parents[2] / "src" / "anchorhold"
STORE = Path(os.environ.get("ANCHORHOLD_TEST_SOURCE", PACKAGE)) / "store"
"""The source as it was written: where mutants of it are tested, another place."""


@dataclass(frozen=True)
class Statement:
    """A statement and the function that sends it."""

    function: str
    sql: str

    @property
    def names(self) -> tuple[str, ...]:
        """Its parameters, each once, in order."""
        return tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", self.sql)))

    @property
    def tables(self) -> set[str]:
        """What it calls the tables that it reads or changes."""
        found = re.findall(
            r"(?:FROM|JOIN|UPDATE)\s+anchorhold\.(\w+)(?:\s+(?!WHERE|ON|SET|USING|ORDER|LEFT)(\w+))?",
            self.sql,
        )
        return {alias or table for table, alias in found}

    @property
    def numbered(self) -> str:
        """The statement with `$n` in place of names, as PostgreSQL takes it."""
        numbers = {name: n for n, name in enumerate(self.names, 1)}
        text = re.sub(r"%\((\w+)\)s", lambda found: f"${numbers[found[1]]}", self.sql)
        return text.replace("%%", "%")


def statements() -> Iterator[Statement]:
    """Each literal that is passed to `db.one` or `db.all`."""
    for path in sorted(STORE.glob("*.py")):
        module = importlib.import_module(f"anchorhold.store.{path.stem}")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.AsyncFunctionDef):
                for call in ast.walk(function):
                    if _is_query(call):
                        sql = _text(call.args[0], vars(module))
                        yield Statement(f"{path.stem}.{function.name}", sql)


def _text(node: ast.expr, names: dict[str, Any]) -> str:
    """The statement that an expression makes; of conditions that may be given, with all."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, names) + _text(right, names)
        case ast.Call(func=ast.Name(id="given"), args=conditions):
            texts = [pair.elts[1] for pair in conditions if isinstance(pair, ast.Tuple)]
            return "".join(_text(text, names) for text in texts)
        case ast.Name(id=name):
            return str(names[name])
        case _:
            return str(ast.literal_eval(node))


def _is_query(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("one", "all")
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "db"
    )

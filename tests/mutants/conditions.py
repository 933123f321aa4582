"""Mutants of SQL: each drops one condition of one statement of the store.

mutmut leaves triple-quoted text alone, and what the store decides is decided there. Conditions on
account and mode are left out: `test_statements.py` counts them in the text itself.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.store.statements import Statement, statements

_TOKEN = re.compile(r"[()]|\b[A-Z]+\b|'[^']*'|--[^\n]*|,")
_ENDS = frozenset({
    "AND", "OR", "WHERE", "ORDER", "LIMIT", "FOR", "RETURNING", "GROUP", "HAVING", "UNION", "ON",
    "JOIN", "LEFT", "CROSS", "INNER", "THEN", "WHEN", "ELSE", "END", "AS", "FROM", "SET",
})  # fmt: skip
_SCOPE = re.compile(r"^(?:NOT )?(?:\w+\.)?(?:account_id|livemode)\s*=\s*[\w.%()]+$")


@dataclass(frozen=True)
class Dropped:
    """A statement without one of its conditions."""

    statement: Statement
    number: int
    start: int
    end: int

    @property
    def name(self) -> str:
        """The function and the condition's number in it."""
        return f"{self.statement.function}#{self.number}"

    @property
    def text(self) -> str:
        """`AND` and the condition, in one line."""
        return " ".join(self.snippet.split())

    @property
    def snippet(self) -> str:
        """What is dropped, as it stands there."""
        return self.statement.sql[self.start : self.end]

    @property
    def sql(self) -> str:
        """The whole statement without it."""
        return self.statement.sql[: self.start] + self.statement.sql[self.end :]

    def of(self, query: str) -> str:
        """The query without it, if it is this statement; parts that may be given may be missing."""
        if query == self.statement.sql:
            return self.sql
        if query[:60] != self.statement.sql[:60] or query in _whole():
            return query
        return query.replace(self.snippet, "", 1)


@cache
def _whole() -> frozenset[str]:
    """Every statement that no part is missing of: nobody else's mutant changes it."""
    return frozenset(statement.sql for statement in statements())


def all_dropped() -> Iterator[Dropped]:
    """Every mutant."""
    for statement in statements():
        spans = [span for span in conditions(statement.sql) if not _is_scope(statement.sql, *span)]
        for number, (start, end) in enumerate(spans, 1):
            yield Dropped(statement, number, start, end)


def _is_scope(sql: str, start: int, end: int) -> bool:
    return _SCOPE.match(" ".join(sql[start + 3 : end].split())) is not None


def conditions(sql: str) -> Iterator[tuple[int, int]]:
    """From each `AND`, its condition's end; not the AND of a BETWEEN."""
    tokens = list(_TOKEN.finditer(sql))
    for at, token in enumerate(tokens):
        before = tokens[at - 1][0] if at else ""
        if token[0] == "AND" and before != "BETWEEN":
            yield token.start(), _end(tokens[at + 1 :], len(sql))


def _end(tokens: list[re.Match[str]], last: int) -> int:
    depth, before = 0, ""
    for token in tokens:
        word = token[0]
        compares = (before, word) == ("DISTINCT", "FROM")
        if depth == 0 and not compares and (word in _ENDS or word in {")", ","}):
            return token.start()
        depth += (word == "(") - (word == ")")
        before = word
    return last

"""What PostgreSQL does for a statement once it is prepared: its generic plan, and what it touched.

A store function is run on an `ExplainDb`: each statement is prepared as the driver prepares it,
explained with the caller's own values, and undone.
"""

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, LiteralString, TypeVar

from psycopg import AsyncConnection, sql

from anchorhold import entropy
from anchorhold.domain.ids import IdKind
from anchorhold.store.rows import row_maker
from tests.store.statements import Statement

T = TypeVar("T")
IdT = TypeVar("IdT", bound=str)

GENERIC = "SET plan_cache_mode = force_generic_plan"
# Parallel workers read past a LIMIT as far as chance lets them: a count of pages needs one reader.
ALONE = "SET max_parallel_workers_per_gather = 0"
NEWEST = "SELECT name FROM pg_prepared_statements WHERE NOT from_sql AND statement = %s"


@dataclass
class Plan:
    """One statement's plan, with what one run of it touched."""

    tree: dict[str, Any]

    @property
    def buffers(self) -> int:
        """Pages of 8 kB that it looked at."""
        return int(self.tree["Shared Hit Blocks"]) + int(self.tree["Shared Read Blocks"])

    def nodes(self) -> Iterator[dict[str, Any]]:
        """Every step."""
        yield from _below(self.tree)

    def scans(self) -> set[str]:
        """The tables that it reads from the first row to the last."""
        return {node["Relation Name"] for node in self.nodes() if node["Node Type"] == "Seq Scan"}

    def __str__(self) -> str:
        return "\n".join(
            f"{node['Node Type']} {node.get('Index Name', '')} {node.get('Relation Name', '')}"
            f" rows {node['Actual Rows']} pages {node['Shared Hit Blocks']}"
            for node in self.nodes()
        )


def _below(node: dict[str, Any]) -> Generator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _below(child)


@dataclass
class ExplainDb:
    """`Db` in a transaction that is never committed; it keeps the plan of each statement."""

    conn: "AsyncConnection[tuple[Any, ...]]"
    plans: list[Plan] = field(default_factory=list)

    async def one(self, query: LiteralString, shape: type[T], **params: Any) -> T | None:
        """See `Db.one`."""
        rows = await self.all(query, shape, **params)
        assert len(rows) <= 1
        return rows[0] if rows else None

    async def all(self, query: LiteralString, shape: type[T], **params: Any) -> list[T]:
        """See `Db.all`."""
        await self.conn.execute("SAVEPOINT before")
        await self.conn.execute(query, params, prepare=True)
        # Not by the driver: it forgets what it has prepared when it sees a ROLLBACK.
        self.conn.pgconn.exec_(b"ROLLBACK TO before")
        self.plans.append(await self._explain(query, params))
        await self.conn.execute("ROLLBACK TO before")
        cursor = await self.conn.execute(query, params)
        if cursor.description is None:
            return []
        make = row_maker(shape, [column.name for column in cursor.description])
        return [make(values) for values in await cursor.fetchall()]

    async def _explain(self, query: str, params: dict[str, Any]) -> Plan:
        statement = Statement("", query)
        cursor = await self.conn.execute(NEWEST, [statement.numbered], prepare=False)
        ((name,),) = await cursor.fetchall()
        values = sql.SQL(", ").join(sql.Literal(params[key]) for key in statement.names)
        call = sql.SQL("({})").format(values) if statement.names else sql.SQL("")
        explained = await self.conn.execute(
            sql.SQL("EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) EXECUTE {}{}").format(
                sql.Identifier(name), call
            )
        )
        ((plans,),) = await explained.fetchall()
        (plan,) = plans if isinstance(plans, list) else json.loads(plans)
        return Plan(plan["Plan"])

    def new_ids(self, kind: IdKind[IdT], count: int) -> list[IdT]:
        """See `Db.new_ids`."""
        return [entropy.new_id(kind) for _ in range(count)]

    def monotonic(self) -> float:
        """See `Db.monotonic`."""
        return 0.0

"""The constraints and unique indexes of our tables, as the database itself lists them."""

import re

from tests.store.scene import Scene

RULES = """
    SELECT c.relname::text, k.conname::text, pg_get_constraintdef(k.oid)
      FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
     WHERE k.connamespace = 'anchorhold'::regnamespace AND k.contype IN ('c', 'u', 'p')
     UNION ALL
    SELECT c.relname::text, x.relname::text, pg_get_indexdef(x.oid)
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indrelid
      JOIN pg_class x ON x.oid = i.indexrelid
     WHERE c.relnamespace = 'anchorhold'::regnamespace AND i.indisunique
       AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.oid)
"""


def rules(scene: Scene) -> dict[str, tuple[str, str]]:
    """Table and definition of every CHECK and uniqueness, by name; the queue's are not ours."""
    return {
        name: (table, definition)
        for table, name, definition in scene.any_sql(RULES)
        if "procrastinate" not in table and table != "schema_version"
    }


def lists(scene: Scene) -> dict[tuple[str, str], set[str]]:
    """The values that a CHECK allows in a column, by table and column."""
    found = {}
    for table, definition in rules(scene).values():
        match = re.fullmatch(r"CHECK \(\((\w+) = (ANY \(ARRAY\[.*\]\)|'\w+'::text)\)\)", definition)
        if match:
            found[table, match[1]] = set(re.findall(r"'(\w+)'", match[2]))
    return found

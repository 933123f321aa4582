"""A neighbour: everything that a scene has once more, under ids of its own in the same mode."""

from tests.store.scene import ROWS, Scene

MARK = "zz"
TABLES = (
    "customer", "stripe_customer", "invoice", "intent", "attempt", "payment", "refund", "notice",
    "event", "dunning_run", "dunning_step", "price", "subscription", "subscription_item",
    "invoice_line", "credit_balance", "webhook_endpoint", "webhook_delivery",
    "idempotent_request", "api_key",
)  # fmt: skip
"""Of which one mode has many rows that a write tells apart by their ids."""

COPY = r"""
    INSERT INTO anchorhold.{table} OVERRIDING SYSTEM VALUE
    SELECT (jsonb_populate_record(t, (
               SELECT jsonb_object_agg(key, CASE
                          WHEN key <> 'account_id' AND jsonb_typeof(value) = 'string'
                           AND key ~ '(^id|_id|_key|url|^reference|^hold_attempt|^subject|^prefix)$'
                          THEN to_jsonb((value #>> '{{}}') || '{mark}') ELSE value END)
                 FROM jsonb_each(to_jsonb(t))))).*
      FROM anchorhold.{table} t
     WHERE account_id = 'acc_ours' AND NOT livemode
"""


def add_neighbour(scene: Scene) -> None:
    """Each row of ours has a double."""
    copies = ";".join(COPY.format(table=table, mark=MARK) for table in TABLES)
    scene.sql("SET session_replication_role = replica")  # in any order, and nobody is told
    scene.any_sql(copies)
    scene.sql("SET session_replication_role = origin")


def neighbours(scene: Scene) -> list[str]:
    """The neighbour's rows."""
    queries = (ROWS.format(table=table) for table in TABLES)
    rows = (row for query in queries for (row,) in scene.any_sql(query, **scene.scope.params))
    return [row for row in rows if f'{MARK}"' in row]

"""Procrastinate's tables, as its release 3.10 makes them, in our schema.

The rows are the truth and jobs are only wake-ups, so nothing of ours refers to these tables. A
newer Procrastinate brings its own migrations; a test names the release that this schema fits.
"""

from importlib.resources import files

from alembic import op

revision = "0002"
down_revision = "0001"

PROCRASTINATE = "3.10"


def upgrade() -> None:
    """Procrastinate's schema exists under `anchorhold`."""
    schema = files("procrastinate").joinpath("sql/schema.sql").read_text(encoding="utf-8")
    connection = op.get_bind()
    connection.exec_driver_sql("SET LOCAL search_path = anchorhold, public")
    connection.exec_driver_sql(schema.replace("%", "%%"))
    connection.exec_driver_sql("SET LOCAL search_path = DEFAULT")

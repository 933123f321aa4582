"""The refusals of the embedded PostgreSQL."""

from enum import StrEnum
from pathlib import Path

USE_ANOTHER_SERVER = "or set ANCHORHOLD_DATABASE_URL to a PostgreSQL that you run yourself"


class PostgresCode(StrEnum):
    """Why the embedded PostgreSQL refuses; the value is stable."""

    BINARIES_MISSING = "postgres_binaries_missing"
    DISK_FULL = "postgres_disk_full"
    FOLDER_NOT_OURS = "postgres_folder_not_ours"
    FOLDER_NOT_WRITABLE = "postgres_folder_not_writable"
    FOLDER_OF_ANOTHER_USER = "postgres_folder_of_another_user"
    NO_ORDINARY_USER = "postgres_no_ordinary_user"
    NO_SOCKET_FOLDER = "postgres_no_socket_folder"
    NOT_DURABLE = "postgres_not_durable"
    OTHER_VERSION = "postgres_other_version"
    STALLED = "postgres_stalled"
    START_FAILED = "postgres_start_failed"


class PostgresError(Exception):
    """The embedded PostgreSQL cannot be had; nothing half done is left behind.

    `sentence` says what is the matter, `next_step` what to do about it.
    """

    def __init__(self, code: PostgresCode, sentence: str, next_step: str) -> None:
        super().__init__(f"{sentence} {next_step}")
        self.code = code
        self.sentence = sentence
        self.next_step = next_step


def disk_full(folder: Path) -> PostgresError:
    """The refusal for a device without room."""
    return PostgresError(
        PostgresCode.DISK_FULL,
        f"No space is left on the device of {folder}.",
        "Free some space (a new database needs 100 MB) and start again.",
    )


def not_writable(folder: Path, reason: str) -> PostgresError:
    """The refusal for a data folder in which this user cannot write."""
    return PostgresError(
        PostgresCode.FOLDER_NOT_WRITABLE,
        f"The data folder {folder} cannot be written: {reason}.",
        f"Give this user the folder, point ANCHORHOLD_DATA_DIR to another, {USE_ANOTHER_SERVER}.",
    )


def start_failed(log: Path, last_lines: str) -> PostgresError:
    """The refusal for a server or an initdb that gave up, with its own words."""
    return PostgresError(
        PostgresCode.START_FAILED,
        f"PostgreSQL did not start:\n{last_lines}",
        f"Read {log}, mend the cause and start again.",
    )

"""The secret key of an embedded database, kept in a file that only its owner can read."""

import base64
import binascii
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.entropy import random_bytes

KEY_BYTES: Final = 32


def decode(text: str | bytes) -> bytes:
    """The `KEY_BYTES` bytes that base64 `text` holds; ValueError with a reason not showing it."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("it is not base64") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"it has {len(key)} bytes, and {KEY_BYTES} are needed")
    return key


def kept_key(path: Path) -> bytes:
    """The key in the file, which is made if it is missing; several processes agree on one.

    Refuses a file that others can read or that holds no key (SECRET_KEY_UNREADABLE), and never
    replaces it: what was encrypted with it would be lost. Refuses a folder that cannot be made or
    written (DATA_DIR_UNWRITABLE).
    """
    try:
        return _read(path)
    except (FileNotFoundError, NotADirectoryError):
        _make(path)
        return _read(path)


def _read(path: Path) -> bytes:
    try:
        mode, content = path.stat().st_mode & 0o777, path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    if mode & 0o077:
        raise _unreadable(path, f"others can read it (mode {mode:o}, and 600 is needed)")
    try:
        return decode(content)
    except ValueError as error:
        raise _unreadable(path, str(error)) from None


def _make(path: Path) -> None:
    """A new key is in the file, whole and durable, or another process's is."""
    draft = path.with_name(f".{path.name}.{random_bytes(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(draft, base64.b64encode(random_bytes(KEY_BYTES)) + b"\n")
        with suppress(FileExistsError):
            os.link(draft, path)
        _sync(path.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Refusal(Code.DATA_DIR_UNWRITABLE, path=path.parent, reason=reason) from None
    finally:
        with suppress(OSError):
            draft.unlink()


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    # A key that was used and then lost with the machine would take the secrets with it.
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unreadable(path: Path, reason: str) -> Refusal:
    return Refusal(Code.SECRET_KEY_UNREADABLE, path=path, reason=reason)

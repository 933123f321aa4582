"""What the processes say on stderr: JSON lines, or a readable form on a terminal.

No secret leaves: whatever looks like a key, a client secret or a password in an address is masked
in the finished line, whichever library wrote it.
"""

import logging
import re
import sys
from typing import Final, TextIO

import structlog
from typing_extensions import override

from anchorhold.engine.deps import Log

SECRET: Final = re.compile(
    r"((?:[sr]k_(?:live|test)|whsec|pi_\w+?_secret)_)\w+|(postgres(?:ql)?://[^:/@\s]*:)[^@\s]+(?=@)"
)
"""The part in a group may be shown, the rest of the match may not."""


def masked(line: str) -> str:
    """The line with every secret cut off after its first, harmless part."""
    return SECRET.sub(lambda found: f"{found[1] or found[2]}***", line)


def logger(stream: TextIO | None = None) -> Log:
    """A logger that writes one event a line to `stream` (stderr)."""
    stream = stream or sys.stderr
    return structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *_rendering(stream),
            _mask,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        context_class=dict,
    )


def _rendering(stream: TextIO) -> list[structlog.typing.Processor]:
    if stream.isatty():
        # The default shows the variables of each frame, and with them whatever secret they hold.
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(exception_formatter=plain)]
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]


def _mask(_logger: object, _name: str, line: object) -> str:
    return masked(str(line))


class _Adopted(logging.Handler):
    """Hands what libraries log to our logger."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    @override
    def emit(self, record: logging.LogRecord) -> None:
        say = self._log.error if record.levelno >= logging.ERROR else self._log.info
        said = record.getMessage()
        say(f"library.{record.name}", said=said, exc_info=record.exc_info or None)


def adopt_libraries(log: Log) -> None:
    """Warnings and errors of libraries come out as our own lines do; for a whole process."""
    root = logging.getLogger()
    root.handlers = [_Adopted(log)]
    root.setLevel(logging.WARNING)

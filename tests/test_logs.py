"""One line an event, and no secret in it."""

import io
import json
import logging
import re
from collections.abc import Generator

import pytest
from typing_extensions import override

from anchorhold import logs

KEY = "sk_" + "live_" + "abcdefghijklmnopqrstuvwx"


class Terminal(io.StringIO):
    """A stream that a person looks at."""

    @override
    def isatty(self) -> bool:
        return True


@pytest.fixture
def root() -> Generator[logging.Logger]:
    """The root logger, as it was at the end."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield root
    root.handlers, root.level = handlers, level


def caught(words: str) -> ValueError:
    """An error that was raised, below a frame that knows the words."""
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        raise ValueError(words)
    return error.value


def test_an_event_is_one_line_of_json() -> None:
    stream = io.StringIO()
    logs.logger(stream).info("charge.failed", invoice="inv_1", count=2)
    said = json.loads(stream.getvalue())
    assert said.pop("timestamp").endswith("Z")
    assert said == {"event": "charge.failed", "level": "info", "invoice": "inv_1", "count": 2}


def test_a_traceback_stays_in_its_line() -> None:
    stream = io.StringIO()
    logs.logger(stream).error("charge.failed", exc_info=caught("why"))
    assert len(stream.getvalue().splitlines()) == 1
    assert "ValueError: why" in json.loads(stream.getvalue())["exception"]


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "rk_" + "test_" + "abcdefghijklmnopqrstuvwx",
        "whsec_" + "abcdefghijklmnopqrstuvwx",
        "pi_3Abc_secret_abcdefghijklmnopqrstuvwx",
        "postgresql://user:abcdefghijklmnopqrstuvwx@host/db",
    ],
)
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_no_secret_is_written_wherever_it_stands(secret: str, stream: type[io.StringIO]) -> None:
    out = stream()
    log = logs.logger(out)
    log.info(f"about {secret}", fact=secret, deep={"list": [secret]})
    log.error("failed", exc_info=caught(secret))
    assert "mnopqrst" not in out.getvalue()
    assert secret[:6] in out.getvalue()


def test_what_libraries_warn_of_comes_out_the_same_way(root: logging.Logger) -> None:
    stream = io.StringIO()
    logs.adopt_libraries(logs.logger(stream))
    logging.getLogger("psycopg.pool").warning("error connecting with %s", KEY)
    logging.getLogger("psycopg.pool").debug("not of interest")
    said = json.loads(stream.getvalue())
    assert said["event"] == "library.psycopg.pool"
    assert said["said"] == "error connecting with sk_live_***"


def test_a_terminal_gets_a_readable_line() -> None:
    stream = Terminal()
    logs.logger(stream).info("worker.started", batch=8)
    assert "worker.started" in stream.getvalue()
    assert not stream.getvalue().startswith("{")

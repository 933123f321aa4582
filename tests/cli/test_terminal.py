"""What a person at a terminal meets: a real pseudo-terminal in front of the real program."""

import fcntl
import os
import pty
import subprocess
import termios
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from anchorhold.twin import SECRET_KEY
from anchorhold.twin.server import TwinServer
from tests.cli.desk import PROGRAM, Desk, environment

CTRL_C = b"\x03"
PROMPT = "Stripe secret key (sk_… or rk_…): "
"""Typed keys before the last blank are thrown away by the terminal."""


@dataclass
class Terminal:
    """A program on a terminal of its own."""

    process: subprocess.Popen[bytes]
    screen: int
    seen: str = ""

    def read_until(self, words: str) -> None:
        """The screen shows this; EOFError when the program ends first."""
        while words not in self.seen:
            self._read()

    def type(self, keys: bytes) -> None:
        """Keys are pressed."""
        os.write(self.screen, keys)

    def end(self) -> int:
        """The exit code, after everything that was still to be read."""
        try:
            while True:
                self._read()
        except EOFError:
            return self.process.wait(30)

    def _read(self) -> None:
        try:
            part = os.read(self.screen, 4096)
        except OSError:
            part = b""
        if not part:
            raise EOFError(self.seen)
        self.seen += part.decode()


@contextmanager
def terminal(*words: str, env: dict[str, str]) -> Generator[Terminal]:
    """The program with this terminal as its stdin, stdout and stderr."""
    screen, side = pty.openpty()
    base = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [PROGRAM, *words],
        env={**base, **env},
        stdin=side,
        stdout=side,
        stderr=side,
        start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509 - one ioctl, which takes no lock
    ) as process:
        os.close(side)
        try:
            yield Terminal(process, screen)
        finally:
            process.kill()
            os.close(screen)


def _own_terminal() -> None:
    """The terminal is the session's, so that Ctrl-C reaches it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def env(desk: Desk, database: str, twin: TwinServer, tmp_path: Path) -> dict[str, str]:
    """A shop with invoices."""
    desk.take_in(tmp_path)
    env = environment(database, twin.url)
    del env["NO_COLOR"]
    return env


def test_a_yes_charges_once(env: dict[str, str], desk: Desk) -> None:
    with terminal("invoice", "collect", "R-1", env=env) as person:
        person.read_until("Shall I charge 149.00 EUR to customer acme for R-1 (test mode)? [y/N]")
        person.type(b"y\n")
        assert person.end() == 0
        assert "149.00 EUR  paid" in person.seen
    assert desk.sql("SELECT count(*) FROM anchorhold.payment") == [(1,)]


def test_ctrl_c_at_the_question_ends_it_and_charges_nothing(
    env: dict[str, str], desk: Desk
) -> None:
    with terminal("invoice", "collect", "R-1", env=env) as person:
        person.read_until("[y/N]")
        person.type(CTRL_C)
        assert person.end() == 130
    assert desk.sql("SELECT FROM anchorhold.attempt") == []


def test_a_key_is_asked_for_and_not_shown(env: dict[str, str]) -> None:
    with terminal("account", "connect", env=env) as person:
        person.read_until(PROMPT)
        person.type(SECRET_KEY.encode() + b"\n")
        assert person.end() == 0
        assert SECRET_KEY not in person.seen
        assert "default uses Stripe account" in person.seen


def test_ctrl_c_at_the_key_ends_it(env: dict[str, str]) -> None:
    with terminal("account", "connect", env=env) as person:
        person.read_until(PROMPT)
        person.type(CTRL_C)
        assert person.end() == 130


def test_a_terminal_gets_a_table_and_colours_unless_it_wants_none(env: dict[str, str]) -> None:
    with terminal("invoice", "list", env=env) as person:
        person.end()
        assert "3 of 3" in person.seen
        assert "\x1b[1m" in person.seen
    with terminal("invoice", "list", env={**env, "NO_COLOR": "1"}) as person:
        person.end()
        assert "\x1b[3" not in person.seen

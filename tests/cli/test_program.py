"""The program itself: its words, its help, its exit codes."""

import os
import subprocess
import sys
from typing import Any

import psycopg
import pytest
import typer

from anchorhold import __version__
from anchorhold.cli import main, nouns
from anchorhold.cli.nouns import NOUNS, load
from tests.cli.desk import PROGRAM, Desk, program

WANTED = """
    up serve worker tick twin doctor rules
    db status, db up, db sql, db validate
    account create, account connect, account list, account check
    customer list, customer show
    invoice import, invoice list, invoice show, invoice story, invoice collect
    hold list, hold explain, hold check
    dunning list, dunning show, dunning pause, dunning resume
    dunning policy create, dunning policy list, dunning policy show, dunning policy assign
    attempt list
    payment list, payment show, payment refund
    notice list, notice show, notice resolve
    event list, event show
"""


def wanted() -> list[tuple[str, ...]]:
    first, *rest = WANTED.strip().splitlines()
    words = [*first.split(), *(pair for line in rest for pair in line.split(","))]
    return [tuple(word.split()) for word in words]


def commands() -> list[tuple[str, ...]]:
    """Every command there is, by its words."""
    return [words for noun in NOUNS for words in _below((noun.name,), load(noun.name))]


def _below(words: tuple[str, ...], command: Any) -> list[tuple[str, ...]]:
    verbs = getattr(command, "commands", None) or {}
    deeper = [found for verb in verbs for found in _below((*words, verb), verbs[verb])]
    return deeper or [words]


@pytest.mark.parametrize("words", wanted(), ids=" ".join)
def test_every_noun_and_verb_is_there(words: tuple[str, ...]) -> None:
    assert words in commands()


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_help_of_a_command_begins_with_two_examples_of_it(
    words: tuple[str, ...], bare: Desk
) -> None:
    ran = bare.run(*words, "--help")
    assert ran.code == 0
    lines = [line.strip() for line in ran.out.splitlines() if line.strip()]
    assert lines[0].startswith(f"Usage: anchorhold {' '.join(words)}")
    examples = lines.index("Examples:")
    assert examples < lines.index("Options:")
    for line in lines[examples + 1 : examples + 3]:
        assert f"anchorhold {' '.join(words)}" in line


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_can_be_asked_for_json(words: tuple[str, ...], bare: Desk) -> None:
    assert "--output" in bare.run(*words, "--help").out


def test_the_help_lists_every_noun_in_one_line(bare: Desk) -> None:
    out = bare.run("--help").out
    width = max(len(noun.name) for noun in NOUNS)
    for noun in NOUNS:
        assert f"{noun.name:<{width}}  {noun.summary}" in out


def test_the_help_loads_no_driver_and_no_stripe() -> None:
    """Importing them costs more than all the rest of the help."""
    script = (
        "import sys; from anchorhold.cli import main; main.run(['--help']);"
        "print([m for m in ('psycopg', 'stripe', 'aiohttp', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["invioce", "list"], "Did you mean 'invoice', 'notice'? [usage]"),
        (["invoice", "lst"], "Did you mean 'list'? [usage]"),
        (["invoice", "list", "--stauts", "open"], "Did you mean --status, --utc? [usage]"),
        (["invoice", "list", "--status", "opne"], "--status"),
        (["invoice", "list", "--limit", "101"], "--limit"),
        (["invoice", "show"], "Missing argument"),
        (["--verzion"], "Did you mean --version? [usage]"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(args: list[str], words: str, bare: Desk) -> None:
    ran = bare.run(*args)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "--help`" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_words_that_are_not_utf_8_are_wrong_usage(bare: Desk) -> None:
    ran = bare.run("invoice", "show", os.fsdecode(b"R-\xff"))
    assert (ran.code, ran.out) == (2, "")
    said = "error: Invalid value: 'R-\\udcff' is not UTF-8. [usage] See `anchorhold --help`.\n"
    assert ran.err == said


def test_a_noun_alone_prints_its_help_and_is_wrong_usage(bare: Desk) -> None:
    ran = bare.run("invoice")
    assert ran.code == 2
    assert "Usage: anchorhold invoice" in ran.err


def test_the_version_is_said(bare: Desk) -> None:
    assert bare.run("--version").out == f"anchorhold {__version__}\n"


def test_an_unexpected_error_is_one_line_and_exit_code_1(
    bare: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _break_rules(monkeypatch)
    ran = bare.run("rules")
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "RuntimeError: a wheel fell off [internal_error] Run it again with --debug" in ran.err


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.AdminShutdown("terminating connection due to administrator command"),
        psycopg.errors.ReadOnlySqlTransaction("cannot execute UPDATE in a read-only transaction"),
        psycopg.OperationalError("server closed the connection unexpectedly\n\tThis probably"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_database_that_breaks_off_is_said_with_what_is_not_known(
    bare: Desk, monkeypatch: pytest.MonkeyPatch, error: psycopg.Error
) -> None:
    def broken(_name: str) -> typer.Typer:
        raise error

    monkeypatch.setattr(nouns, "load", broken)
    ran = bare.run("rules")
    assert (ran.code, len(ran.err.splitlines())) == (5, 1)
    assert "the last step may have been done" in ran.err
    assert "[database_unreachable]" in ran.err


def test_debug_shows_the_traceback(bare: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    _break_rules(monkeypatch)
    ran = bare.run("rules", "--debug")
    assert ran.code == 1
    assert "Traceback (most recent call last)" in ran.err


def _break_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> typer.Typer:
        raise RuntimeError("a wheel\nfell off")

    monkeypatch.setattr(nouns, "load", broken)


def test_an_interruption_is_exit_code_130(bare: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_name: str) -> typer.Typer:
        raise KeyboardInterrupt

    monkeypatch.setattr(nouns, "load", interrupted)
    ran = bare.run("rules")
    assert (ran.code, ran.out) == (130, "")


def test_a_reader_that_goes_away_is_no_error_to_talk_about() -> None:
    done = subprocess.run(
        f"{PROGRAM} rules | head -1", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_the_program_runs_as_a_program() -> None:
    ran = program("rules", "S8", "--output", "json")
    assert ran.code == 0
    assert ran.json()["data"][0]["id"] == "S8"


def test_main_exits_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["anchorhold", "rules", "no-such-rule"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 4

"""Tables fit their terminal, and words for times and states are the same everywhere."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console

from anchorhold.cli import output, words
from anchorhold.cli.output import Column, table
from anchorhold.cli.words import When
from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.outcome import Meaning

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ID = "inv_01M8Q35W19WV6CPVPA2DV1JK62"
COLUMNS: tuple[Column[str], ...] = (
    Column("id", lambda row: row),
    Column("amount", lambda _: "149.00 EUR", right=True),
    Column("wide", lambda _: "x" * 30, from_width=100),
)


def printed(width: int) -> list[str]:
    out = StringIO()
    Console(file=out, width=width).print(table(COLUMNS, [ID], width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [50, 80, 120])
def test_an_id_is_never_wrapped(width: int) -> None:
    lines = printed(width)
    assert len(lines) == 2
    assert lines[1].startswith(ID)
    assert all(len(line) <= width for line in lines)


def test_a_narrow_terminal_gets_fewer_columns() -> None:
    assert printed(76)[0].split() == ["id", "amount", "wide"]
    assert printed(75)[0].split() == ["id", "amount"]
    assert printed(20)[0].split() == ["id"]
    assert printed(30)[1] == ID


def test_a_text_is_wrapped_behind_its_label_and_commands_stay_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(output, "PIPE_WIDTH", 40)
    text = f"Do it now   run it with anchorhold-hold-check-{ID}"
    assert output.wrapped(text, 12).splitlines() == [
        "Do it now   run it with",
        f"            anchorhold-hold-check-{ID}",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("made \x1b[31mtwice\x07", "made \\x1b[31mtwice\\x07"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("Größe 5\u00a0€, 日本", "Größe 5\u00a0€, 日本"),
    ],
)
def test_what_somebody_typed_commands_no_terminal(text: str, shown: str) -> None:
    assert output.wrapped(text) == shown
    out = StringIO()
    column: Column[str] = Column("reason", str)
    Console(file=out, width=80).print(table([column], [text], 80))
    assert out.getvalue().splitlines()[1].strip() == shown


@pytest.mark.parametrize(
    ("delta", "said"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=-42), "42 s ago"),
        (timedelta(minutes=17), "in 17 min"),
        (timedelta(hours=-5, minutes=-59), "5 h ago"),
        (timedelta(hours=47), "in 47 h"),
        (timedelta(days=3), "in 3 days"),
    ],
)
def test_times_are_said_as_seen_from_now(delta: timedelta, said: str) -> None:
    assert When(NOW).at(NOW + delta) == said
    assert When(NOW, utc=True).at(NOW) == "2026-11-30T12:00:00Z"
    assert When(NOW).at(None) == "-"


@pytest.mark.parametrize("state", AttemptState)
def test_every_state_of_an_attempt_has_its_word(state: AttemptState) -> None:
    assert state in words.ATTEMPT_STATES
    assert "unknown" not in words.attempt_state(state)


@pytest.mark.parametrize("meaning", Meaning)
def test_every_meaning_has_its_word(meaning: Meaning) -> None:
    assert "unknown" not in words.meaning(meaning)

"""Every command in our pages is run, or says why not; those that are not run exist at least."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import pytest

from anchorhold import postgres
from anchorhold.cli import main as cli
from anchorhold.twin import SECRET_KEY
from tests.docs.console import NO_TEST, PAGES, ROOT, Block, blocks, fences, words_of

BIN = Path(sys.executable).parent
RUN = [page for page in PAGES if any(not block.reason for block in blocks(page))]
SKIPPED = [block for page in PAGES for block in blocks(page) if block.reason]
EXAMPLES = 40
"""So many lines of the examples: enough for each way in which a charge ends."""
TWIN = "import asyncio; from anchorhold.twin.server import run; asyncio.run(run(port=0))"


@pytest.fixture(scope="module")
def twin() -> Iterator[str]:
    """The address of a twin in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", TWIN], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        found = re.search(r"http://[\d.]+:\d+", run.stdout.readline())
        assert found is not None
        yield found[0]
        run.terminate()


@pytest.fixture
def environment(tmp_path: Path, twin: str) -> Iterator[dict[str, str]]:
    """A machine with a home, a data folder and a twin of its own, and some of the examples."""
    (tmp_path / "examples").mkdir()
    rows = (ROOT / "examples" / "invoices.csv").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "examples" / "invoices.csv").write_text("".join(rows[:EXAMPLES]), "utf-8")
    data = tmp_path / "data"
    postgres.start(data / "postgres")  # so that each command joins it and none has to start it
    yield {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "ANCHORHOLD_DATA_DIR": str(data),
        "ANCHORHOLD_STRIPE_API_BASE": twin,
        "ANCHORHOLD_STRIPE_KEY": SECRET_KEY,
        "ANCHORHOLD_STRIPE_RATE": "10000",
        "ANCHORHOLD_STRIPE_RATE_PER_ENDPOINT": "10000",
    }
    postgres.stop(data / "postgres")


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_work_in_their_order(
    page: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    commands = [line for block in blocks(page) if not block.reason for line in block.commands]
    script = "set -e\n" + "\n".join(f"echo + {quote(line)} >&2\n{line}" for line in commands)
    done = subprocess.run(
        ["bash", "-c", script],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("block", SKIPPED, ids=lambda block: block.name)
def test_a_block_that_is_not_run_says_why(block: Block) -> None:
    assert len(block.reason.split()) >= 4


def documented() -> list[tuple[str, ...]]:
    """Noun and verb of each `anchorhold` command that no block runs, in blocks and in sentences."""
    lines = [command for block in SKIPPED for command in block.commands]
    prose = [
        found
        for page in PAGES
        for found in re.findall(r"`(anchorhold [a-z][^`\n]*)`", page.read_text("utf-8"))
    ]
    return sorted({tuple(words) for line in (*lines, *prose) if len(words := words_of(line)) > 1})


@pytest.mark.parametrize("words", documented(), ids=" ".join)
def test_a_command_that_is_only_named_exists(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.run([*words[1:], "--help"])
    assert code == 0, capsys.readouterr().err


def test_what_make_is_asked_for_in_our_pages_can_be_made() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    asked = set(re.findall(r"(?:^\$ |`)make ([a-z-]+)", pages, re.MULTILINE))
    assert asked
    assert asked <= targets


def test_no_command_hides_in_a_fence_that_nobody_runs() -> None:
    allowed = {"console", "mermaid", "python", "sql", "json", "csv", "text", ""}
    strange = [
        (page.name, info)
        for page in PAGES
        for info, _ in fences(page)
        if info not in allowed and not info.startswith(NO_TEST)
    ]
    assert not strange


def test_noun_and_verb_are_read_out_of_a_command() -> None:
    assert words_of(".venv/bin/anchorhold invoice import a.csv --yes") == [
        "anchorhold",
        "invoice",
        "import",
    ]
    assert words_of("anchorhold worker --once") == ["anchorhold", "worker"]
    assert words_of("make demo") == []

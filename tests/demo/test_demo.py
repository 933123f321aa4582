"""The demo itself, small: real processes, real SIGKILL, and the words that scripts read."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anchorhold.cli.demo import WORKERS

FIGURES = {
    "invoices",
    "paid",
    "declined",
    "needs_customer",
    "open",
    "double_charges",
    "lost_payments",
    "wrong_amounts",
    "holds_left",
    "kills",
    "unclear_answers",
    "resolved_by",
    "seconds",
    "naive",
}


@pytest.fixture(scope="module")
def figures() -> dict[str, object]:
    """One small run."""
    command = ["demo", "--seed", "5", "--invoices", "60", "--kills", "3", "--output", "json"]
    ran = subprocess.run(
        [sys.executable, "-m", "anchorhold", *command], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    shown: dict[str, object] = json.loads(ran.stdout)
    return shown


@pytest.mark.xdist_group("demo")
def test_workers_die_and_every_payment_is_recorded_once(figures: dict[str, object]) -> None:
    findings = ("double_charges", "lost_payments", "wrong_amounts", "holds_left", "unbacked")
    assert {name: figures[name] for name in findings} == dict.fromkeys(findings, 0)
    assert figures["kills"] == 3
    assert figures["paid"]


@pytest.mark.xdist_group("demo")
def test_each_invoice_is_counted_once(figures: dict[str, object]) -> None:
    endings = [figures[name] for name in ("paid", "declined", "needs_customer", "open")]
    assert sum(int(str(count)) for count in endings) == figures["invoices"] == 60


@pytest.mark.xdist_group("demo")
def test_scripts_find_every_figure(figures: dict[str, object]) -> None:
    assert set(figures) >= FIGURES
    naive = figures["naive"]
    assert isinstance(naive, dict)
    assert {"double_charges", "lost_payments"} <= set(naive)


@pytest.mark.xdist_group("demo")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_whoever_stops_it_finds_nothing_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    with playing(tmp_path) as demo:
        workers = children_of(demo.pid)
        demo.send_signal(number)
        assert demo.wait(30) == 130
    assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.xdist_group("demo")
def test_a_killed_demo_takes_its_workers_with_it(tmp_path: Path) -> None:
    with playing(tmp_path) as demo:
        workers = [os.pidfd_open(pid) for pid in children_of(demo.pid)]
        demo.kill()
        demo.wait(30)
    gone = [bool(select.select([worker], [], [], 30)[0]) for worker in workers]
    assert gone == [True] * WORKERS


@contextmanager
def playing(folder: Path) -> Generator[subprocess.Popen[bytes]]:
    """A demo whose workers run, with its temporary folder in here."""
    command = [sys.executable, "-m", "anchorhold", "demo", "--invoices", "20", "--kills", "0"]
    with subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(folder)}, stderr=subprocess.DEVNULL
    ) as demo:
        try:
            while len(children_of(demo.pid)) < WORKERS:
                assert demo.poll() is None
                time.sleep(0.05)
            yield demo
        finally:
            demo.kill()


def children_of(pid: int) -> list[int]:
    """The workers that this process started."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return [int(child) for child in found if b"worker" in command_of(int(child))]


def command_of(pid: int) -> list[bytes]:
    """What the process runs; nothing when it has gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return []

"""The demo itself, small: real processes, real SIGKILL, and the words that scripts read."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anchorhold import postgres
from anchorhold.cli import main
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
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_whoever_stops_it_finds_nothing_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    with playing(tmp_path) as demo:
        workers = children_of(demo.pid)
        demo.send_signal(number)
        assert demo.wait(30) == 130
    assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.xdist_group("demo")
@pytest.mark.parametrize(
    ("sign", "send"),
    [("postgres/cluster.new", os.killpg), ("postgres/run", os.killpg), ("invoices.csv", os.kill)],
)
def test_before_its_workers_are_there_it_can_be_stopped_as_well(
    sign: str, send: Callable[[int, int], None], tmp_path: Path
) -> None:
    with playing(tmp_path, lambda _demo: any(tmp_path.glob(f"*/{sign}"))) as demo:
        send(demo.pid, signal.SIGINT)
        assert demo.wait(30) == 130
        assert running_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("stopped", "code"), [(False, 2), (True, 130)])
def test_no_database_is_a_refusal_unless_a_ctrl_c_was_the_reason(
    stopped: bool,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def ends(_folder: Path) -> postgres.Server:
        if stopped:
            signal.raise_signal(signal.SIGINT)
        raise postgres.PostgresError(postgres.PostgresCode.START_FAILED, "It fell over.", "Look.")

    monkeypatch.setattr(postgres, "start", ends)
    assert main.run(["demo"]) == code
    said = capsys.readouterr().err
    assert ("[embedded_database_failed] Look." in said) is not stopped


@pytest.mark.xdist_group("demo")
def test_a_killed_demo_takes_its_workers_with_it(tmp_path: Path) -> None:
    with playing(tmp_path) as demo:
        workers = [os.pidfd_open(pid) for pid in children_of(demo.pid)]
        demo.kill()
        demo.wait(30)
    gone = [bool(select.select([worker], [], [], 30)[0]) for worker in workers]
    assert gone == [True] * WORKERS


def workers_run(demo: subprocess.Popen[bytes]) -> bool:
    """All of the workers were started."""
    return len(children_of(demo.pid)) == WORKERS


@contextmanager
def playing(
    folder: Path, until: Callable[[subprocess.Popen[bytes]], bool] = workers_run
) -> Generator[subprocess.Popen[bytes]]:
    """A demo that came so far, with a terminal and a temporary folder of its own."""
    command = [sys.executable, "-m", "anchorhold", "demo", "--invoices", "20", "--kills", "0"]
    env = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(
        command, env=env, stderr=subprocess.DEVNULL, start_new_session=True
    ) as demo:
        try:
            while not until(demo):
                assert demo.poll() is None
                time.sleep(0.01)
            yield demo
        finally:
            demo.kill()


def running_in(folder: Path) -> list[list[bytes]]:
    """The commands of all processes that work in this folder."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return [
        words
        for pid in pids
        if (words := command_of(pid)) and str(folder).encode() in b"\0".join(words)
    ]


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

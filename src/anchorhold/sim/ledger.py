"""The ledger of all worlds that were kept: a line of JSON a campaign and mode, appended only."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anchorhold.sim.campaign import Campaign


@dataclass(frozen=True, slots=True)
class Entry:
    """One campaign in one mode: when, of which commit, and what it came to."""

    date: str
    commit: str
    mode: str
    first_seed: int
    worlds: int
    violations: int
    stated: Mapping[str, int]
    worlds_per_second: float
    """While it ran, with whatever else ran beside it."""


def entry(came_to: Campaign, first_seed: int, commit: str) -> Entry:
    """The line for this campaign."""
    return Entry(
        datetime.now(UTC).strftime("%Y-%m-%d"),
        commit,
        came_to.mode.value,
        first_seed,
        came_to.worlds,
        came_to.violations,
        dict(sorted(came_to.stated.items())),
        round(came_to.per_second, 1),
    )


def append(path: Path, entries: Iterable[Entry]) -> None:
    """The file has these lines more."""
    with path.open("a", encoding="utf-8") as file:
        for one in entries:
            file.write(json.dumps({name: getattr(one, name) for name in Entry.__slots__}) + "\n")


def read(path: Path) -> list[Entry]:
    """All lines, oldest first; none when there is no such file."""
    if not path.exists():
        return []
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in path.read_text("utf-8").split("\n") if line
    ]
    return [Entry(**line) for line in lines]


def next_seed(path: Path) -> int:
    """The first seed that none of the kept campaigns has played."""
    return max((one.first_seed + one.worlds for one in read(path)), default=0)


def commit_of(folder: Path) -> str:
    """The commit that is checked out there, with `+` when files were changed since."""
    said = subprocess.run(
        ("git", "describe", "--always", "--dirty=+", "--exclude=*"),  # noqa: S607 - whichever git is there
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip() or "unknown"

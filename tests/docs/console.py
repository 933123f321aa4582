"""The shell commands in our pages: fenced blocks that begin with ```console.

A line that begins with `$ ` is a command; the others show what it prints. What stands behind
`no-test:` on the fence is the reason why a block is not run.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if page.name != "template.md"
]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NO_TEST = "console no-test: "


@dataclass(frozen=True)
class Block:
    """One block of commands; `reason` says why it is not run, and is empty when it is."""

    page: Path
    reason: str
    commands: tuple[str, ...]

    @property
    def name(self) -> str:
        """The page and the first command."""
        first = self.commands[0] if self.commands else "no command"
        return f"{self.page.relative_to(ROOT)}: {first}"


def fences(page: Path) -> list[tuple[str, str]]:
    """The word behind each opening fence of the page, and the text inside."""
    return FENCE.findall(page.read_text("utf-8"))


def blocks(page: Path) -> list[Block]:
    """The console blocks of the page."""
    return [
        Block(
            page,
            info.removeprefix(NO_TEST) if info.startswith(NO_TEST) else "",
            tuple(line[2:] for line in text.splitlines() if line.startswith("$ ")),
        )
        for info, text in fences(page)
        if info == "console" or info.startswith(NO_TEST)
    ]


def words_of(command: str) -> list[str]:
    """`anchorhold` and the noun and verb behind it; empty for another program."""
    found = re.match(r"(?:\.venv/bin/)?(anchorhold(?: [a-z][a-z-]*)*)", command)
    return found[1].split()[:3] if found else []

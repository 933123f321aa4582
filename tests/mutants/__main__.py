"""`python -m tests.mutants domain|store [MUTANT ...]`: mutmut on one room, in a copy of the tree.

The copy has the room's own tests. Those that measure time or read the source text are left out: a
mutated source has every function several times.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("src", "tests", "docs", "examples", "pyproject.toml", "README.md", "LICENSE", "Makefile")
LEFT_OUT = ("test_plans", "test_pooler", "test_storms", "test_statements")
TESTS = {
    "domain": ["tests/domain"],
    "store": ["tests/store", *(f"--ignore=tests/store/{name}.py" for name in LEFT_OUT)],
}
KILLED = ("killed", "timeout", "segfault", "caught by type check")


def main(words: list[str]) -> int:
    """Prints the survivors and the score."""
    room, *mutants = words
    with tempfile.TemporaryDirectory(prefix="anchorhold-mutants-") as name:
        folder = Path(name)
        _copy(folder, room)
        _mutmut(folder, "run", "--max-children", "1", *mutants, heard=False)
        results = _mutmut(folder, "results", "--all", "true")
        return _told(results, folder)


def _copy(folder: Path, room: str) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, ignore=leave)
        else:
            shutil.copy2(source, folder / name)
    tests = ", ".join(f'"{one}"' for one in TESTS[room])
    config = folder / "pyproject.toml"
    text = config.read_text("utf-8")
    text = re.sub(r"(only_mutate = ).*", rf'\1["src/anchorhold/{room}/*.py"]', text)
    text = re.sub(r"(test_selection = ).*", rf"\1[{tests}]", text)
    config.write_text(text, "utf-8")


def _mutmut(folder: Path, *words: str, heard: bool = True) -> str:
    with tempfile.TemporaryDirectory(prefix="anchorhold-tests-") as run:
        environment = {
            **os.environ,
            "ANCHORHOLD_TEST_RUN": run,
            "ANCHORHOLD_TEST_SOURCE": str(folder / "src" / "anchorhold"),
        }
        program = Path(sys.executable).with_name("mutmut")
        done = subprocess.run(
            [program, *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode and not heard:
        print(done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def _told(results: str, folder: Path) -> int:
    found = dict(re.findall(r"^\s+(\S+): (.+)$", results, re.MULTILINE))
    counted = Counter(found.values())
    killed = sum(counted[one] for one in KILLED)
    for mutant in sorted(one for one, end in found.items() if end not in (*KILLED, "not checked")):
        shown = _mutmut(folder, "show", mutant)
        changed = re.findall(r"^[-+](?![-+]).*", shown, re.MULTILINE)
        print(f"{found[mutant]}: {mutant}", *changed, sep="\n    ")
    tried = sum(counted.values()) - counted["not checked"]
    print(f"{killed} of {tried} killed ({100 * killed / max(tried, 1):.1f} %): {dict(counted)}")
    return 0 if tried and killed >= 0.9 * tried else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

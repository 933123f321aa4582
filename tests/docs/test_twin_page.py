"""The Python of the page about the twin runs from its first block to its last."""

import asyncio
import os
import re
import sys
from pathlib import Path

from anchorhold.twin import FaultKind, Twin
from anchorhold.twin.server import serve
from tests.docs.console import ROOT, fences

PAGE = ROOT / "docs" / "twin.md"


async def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    server = await serve(Twin(seed=1))
    blocks = [text for info, text in fences(PAGE) if info == "python"]
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks).replace("http://127.0.0.1:8430", server.url), "utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    said, _ = await process.communicate()
    await server.stop()
    assert process.returncode == 0, said.decode()


def test_the_page_tells_of_every_fault() -> None:
    table = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
    assert {name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[1])} == {
        kind.value for kind in FaultKind
    }

"""`python -m tests.soak --charges 10000 --seed 7`: exit code 6 when the audit finds anything."""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from anchorhold.domain.refusals import Exit
from tests.soak.report import as_json, tell
from tests.soak.run import soak
from tests.soak.scene import Scene


def main() -> int:
    """One soak in a folder of its own, which is gone afterwards unless something was found."""
    given = arguments()
    talk = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="anchorhold-soak-", dir=given.folder))
    scene = Scene(
        given.seed,
        given.charges,
        given.workers,
        folder,
        mode=given.mode,
        per_s=given.per_second,
        pause_s=given.pause,
    )
    with talk.status("starting") as status:
        soaked = asyncio.run(soak(scene, status.update))
    if given.output == "json":
        print(json.dumps(as_json(soaked), indent=2))
    else:
        tell(Console(), soaked)
    if not soaked.clean:
        talk.print(f"The database and the workers' log are in {folder}.")
        return Exit.FINDINGS
    shutil.rmtree(folder)
    return Exit.DONE


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=main.__doc__)
    parser.add_argument("--charges", type=int, default=10_000, help="how many invoices")
    parser.add_argument("--seed", type=int, default=1, help="decides the plan of the trouble")
    parser.add_argument("--workers", type=int, default=3, help="worker processes")
    parser.add_argument("--mode", choices=["prepared", "direct", "adr"], default="prepared")
    parser.add_argument("--per-second", type=float, default=60, help="charges begun a second")
    parser.add_argument("--pause", type=float, default=1.0, help="least seconds between two acts")
    parser.add_argument("--folder", help="where its files are kept while it runs")
    parser.add_argument("--output", choices=["table", "json"], default="table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

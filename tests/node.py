"""npm's packages that tests drive the project with: skipped without them, failed in CI."""

import os
import shutil
from pathlib import Path

import pytest


def node_modules(*packages: str) -> Path:
    """The folder with these npm packages; without one skipped locally and failed in CI."""
    folder = Path(os.environ.get("ANCHORHOLD_TEST_NODE_MODULES", "node_modules")).resolve()
    missing = "node is not installed" if shutil.which("node") is None else ""
    for package in packages:
        if not (folder / package).is_dir():
            missing = f"no npm package `{package}` in {folder}: set ANCHORHOLD_TEST_NODE_MODULES"
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    return folder

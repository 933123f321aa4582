"""Writes the pages that are made from the code; run it after a change (or `make docs`)."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Every page is as the code says; the changed ones are named."""
    sys.path.insert(0, str(ROOT))
    from docs.pages import PAGES  # noqa: PLC0415 - of a script, the root is on the path only now

    for name, make in PAGES.items():
        path, text = ROOT / name, make()
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"written: {name}")


if __name__ == "__main__":
    main()

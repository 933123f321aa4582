"""What every test of a table uses: its ids, and the tests that are named after them."""

import re
from collections.abc import Iterable
from types import ModuleType


def rows_without_a_test(module: ModuleType, ids: Iterable[str]) -> list[str]:
    """The ids that no test of the module is named after (`test_s6b_…`)."""
    tested = {
        found[1].upper()
        for name in vars(module)
        if (found := re.match(r"test_([a-z]+[0-9]+[a-z]?)_", name))
    }
    return [id_ for id_ in ids if id_.upper() not in tested]

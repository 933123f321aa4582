"""The page about simulated worlds: what was played so far, from the ledger of all campaigns."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from docs.markdown import table

from anchorhold.sim import coverage
from anchorhold.sim.ledger import Entry, read
from anchorhold.sim.mode import Mode
from anchorhold.sim.residuals import RESIDUALS

ROOT: Final = Path(__file__).resolve().parents[1]
LEDGER: Final = ROOT / "docs" / "proof" / "worlds.jsonl"


def simulator_page(made: str) -> str:
    """`docs/proof/simulator.md`; `made` is the line that says so."""
    entries = read(LEDGER)
    total = sum(one.worlds for one in entries)
    violations = sum(one.violations for one in entries)
    return f"""# Simulated worlds

{made}

{total:,} worlds were played and kept so far, with {violations:,} violations.

A world is one account with one or two invoices, and everybody who acts on them: workers, ticks,
sweeps, operators, dunning, the customer on his page, banks, the merchant in Stripe's dashboard.
They run the engine, the statements and the Stripe client that ship, on a real PostgreSQL; Stripe is
the twin in memory. A seed decides who takes the next step and what breaks: a process dies, freezes
past its hold, is cancelled or waits long between any two steps; an answer is lost; Stripe answers
5xx with and without effect, late, 409, 429; events come late, twice, in any order or never. After
each step the auditor looks at the rows and at Stripe's ledger for I1 to I9. Then nothing breaks any
more, and all has to come to a true end.

Again: `make sim-long` (`MINUTES=60`, `MODE=all`, `SEEDS=`); one seed: `anchorhold sim story 42`;
with what it does not need left out: `anchorhold sim story 42 --shrink`. What the auditor finds when
something is wrong is on the page of [planted bugs](planted-bugs.md).

## By mode

{table("mode|worlds|violations|stated", [_of_mode(mode, entries) for mode in Mode])}
Stated is what direct mode says that it cannot prevent; each is also told by a notice.

{table("id|what came to pass", RESIDUALS.items())}
## Campaigns

Worlds a second are those of one process while it ran, with whatever else ran beside it.

{table("date|commit|mode|first seed|worlds|violations|worlds a second", map(_line, entries))}
## What worlds never come by

Each has a test of its own.

{table("row or cause|why", coverage.OUT_OF_REACH.items())}"""


def _of_mode(mode: Mode, entries: Iterable[Entry]) -> tuple[object, ...]:
    own = [one for one in entries if one.mode == mode]
    stated: Counter[str] = Counter()
    for one in own:
        stated.update(one.stated)
    told = ", ".join(f"{id_} in {count:,}" for id_, count in sorted(stated.items())) or "none"
    worlds, violations = sum(one.worlds for one in own), sum(one.violations for one in own)
    return mode, f"{worlds:,}", violations, told


def _line(one: Entry) -> tuple[object, ...]:
    return (
        one.date,
        one.commit,
        one.mode,
        one.first_seed,
        f"{one.worlds:,}",
        one.violations,
        one.worlds_per_second,
    )


WORLD_PAGES: Final[dict[str, Callable[[str], str]]] = {"docs/proof/simulator.md": simulator_page}
"""The pages that are made from worlds."""

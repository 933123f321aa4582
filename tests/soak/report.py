"""What a soak says at its end: one table and one line that counts, or JSON."""

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.soak.run import Soaked


def as_json(soaked: Soaked) -> dict[str, Any]:
    """Every figure, by the names that scripts read."""
    scene = soaked.scene
    counted = asdict(soaked.audit.counted)
    counted.pop("named")
    return {
        "seed": scene.seed,
        "mode": scene.mode,
        "workers": scene.workers,
        "charges": scene.charges,
        **counted,
        "findings": soaked.audit.findings,
        "troubles": dict(soaked.troubles),
        "stripe_faults": dict(soaked.stripe_faults),
        "database_errors": dict(soaked.database_errors),
        "workers_ended": {str(code): n for code, n in soaked.workers_ended.items()},
        "commands": dict(sorted(soaked.commands.items())),
        "asked_operator": soaked.asked_operator,
        "attempts": dict(soaked.audit.states),
        "rules": dict(soaked.audit.rules),
        "notices": dict(soaked.audit.notices),
        "trouble_s": soaked.trouble_s,
        "quiet_after_s": soaked.quiet_after_s,
        "slowest_passage_s": soaked.slowest_s,
    }


def tell(console: Console, soaked: Soaked) -> None:
    """The end for a person."""
    found, counted = soaked.audit.findings, soaked.audit.counted
    shown = Table(title=f"Soak, seed {soaked.scene.seed}", title_justify="left")
    shown.add_column("what was done, met and found")
    shown.add_column("", justify="right")
    parts = (soaked.troubles, soaked.stripe_faults, soaked.database_errors)
    for part, beginning in zip(parts, ("", "Stripe: ", "PostgreSQL's log: "), strict=True):
        for name, count in part.items():
            shown.add_row(f"{beginning}{name}", str(count))
        shown.add_section()
    for name in ("paid", "declined", "needs_customer", "open"):
        shown.add_row(name, str(getattr(counted, name)))
    for name, wrong in found.items():
        shown.add_row(f"[red]{name}[/]", str(len(wrong)))
    console.print(shown)
    console.print(
        f"Trouble for {soaked.trouble_s} s, at rest {soaked.quiet_after_s} s later; "
        f"{soaked.asked_operator} invoices were left to an operator's Collect."
    )
    if soaked.clean:
        console.print(
            f"[bold green]Proved:[/] {counted.invoices} invoices through "
            f"{sum(soaked.troubles.values())} acts of trouble; each of the {counted.paid} "
            "payments at Stripe is recorded once, none taken twice, none lost."
        )
    for name, wrong in found.items():
        console.print(f"[bold red]{name}:[/] {'; '.join(wrong[:5])}")

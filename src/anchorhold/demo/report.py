"""What the demo says: progress while it runs, two columns at the end, and one line that counts."""

from dataclasses import asdict
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from anchorhold.demo.ours import Outcome
from anchorhold.demo.plain import PlainOutcome
from anchorhold.demo.scene import Mode

STATED: Final = {
    Mode.PREPARED: "",
    Mode.DIRECT: (
        "Direct mode: what Stripe carries out more than a day after its 500 would be a second "
        "payment; it is recorded and flagged, and nothing in this mode can prevent it."
    ),
    Mode.ADR: (
        "Mode adr promises less than this run shows: a charge that Stripe carries out later than "
        "ten minutes after its hold (seconds here) is taken for none and made again. The faults "
        "above are carried out sooner. Such a second payment is recorded and flagged."
    ),
}
"""What each mode cannot promise, said with its result."""


def as_json(
    outcome: Outcome, plain: PlainOutcome, seed: int, mode: Mode = Mode.PREPARED
) -> dict[str, Any]:
    """Every figure, by the names that scripts read."""
    findings = asdict(outcome.findings)
    named = findings.pop("named")
    return {
        "seed": seed,
        "mode": mode.value,
        "cannot_promise": STATED[mode] or None,
        **findings,
        "named": list(named),
        "kills": outcome.kills,
        "unclear_answers": outcome.unclear_answers,
        "resolved_by": outcome.resolved_by,
        "faults": outcome.faults_met,
        "seconds": round(outcome.seconds + plain.seconds, 1),
        "naive": asdict(plain),
    }


def table(outcome: Outcome, plain: PlainOutcome) -> Table:
    """Anchorhold beside the plain loop."""
    found = outcome.findings
    shown = Table(title="From Stripe's side", title_justify="left")
    shown.add_column("")
    shown.add_column("Anchorhold", justify="right")
    shown.add_column("plain retry loop", justify="right")
    for name, ours, theirs in (
        ("invoices", found.invoices, found.invoices),
        ("workers killed with SIGKILL", outcome.kills, plain.kills),
        ("charged twice or more", found.double_charges, plain.double_charges),
        ("charged, and nobody knows", found.lost_payments, plain.lost_payments),
        ("wrong amount", found.wrong_amounts, ""),
        ("paid here, not at Stripe", found.unbacked, ""),
        ("holds left", found.holds_left, ""),
    ):
        shown.add_row(name, str(ours), str(theirs))
    return shown


def tell(
    console: Console, outcome: Outcome, plain: PlainOutcome, mode: Mode = Mode.PREPARED
) -> None:
    """The end of the demo for a person."""
    found = outcome.findings
    console.print(table(outcome, plain))
    console.print(
        f"Each invoice counted once: {found.paid} paid + {found.declined} declined + "
        f"{found.needs_customer} need their customer + {found.open} open = {found.invoices}."
    )
    console.print(_resolved(outcome))
    met = ", ".join(f"{count} {name}" for name, count in sorted(outcome.faults_met.items()))
    console.print(f"Faults that met Anchorhold's requests: {met or 'none'}.")
    if STATED[mode]:
        console.print(STATED[mode])
    if found.clean:
        console.print(
            f"[bold green]Proved:[/] each of the {found.paid} payments at Stripe is recorded once, "
            f"none taken twice, none lost; workers killed on the way: {outcome.kills}."
        )
    else:
        named = ", ".join(found.named) or "what is left to do"
        console.print(f"[bold red]Not proved:[/] look at {named}.")


def _resolved(outcome: Outcome) -> str:
    """Who cleared up the unclear answers, by the rows of the rules that decided."""
    by = outcome.resolved_by
    swept = {rule: count for rule, count in by.items() if rule.startswith("S")}
    rows = ", ".join(f"{rule} {count}" for rule, count in swept.items()) or "none"
    at_once = sum(count for rule, count in by.items() if rule.startswith("A"))
    left = by.get("operator", 0)
    return (
        f"{outcome.unclear_answers} attempts had no clear answer: {at_once} cleared up by asking "
        f"Stripe at once, {sum(swept.values())} by the sweep after their worker died or the "
        f"answer stayed unclear ({rows}); {left} invoices were left to an operator's Collect."
    )

"""What `anchorhold` can be asked for. A new noun or verb is one file and one line here.

The file `cli/NAME.py` holds `app`, and is imported when somebody asks for it: so the help of the
program costs no database driver and no Stripe library.
"""

import importlib
from dataclasses import dataclass
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override


@dataclass(frozen=True, slots=True)
class Noun:
    """One word behind `anchorhold`, and its line in the help."""

    name: str
    summary: str


NOUNS: Final = (
    Noun("up", "Start everything: database, worker, health, a Stripe twin."),
    Noun("serve", "Answer over HTTP: health checks."),
    Noun("worker", "Charge what is due, confirm what is unclear; until stopped."),
    Noun("tick", "Look through everything once, as workers do every hour."),
    Noun("recover", "Read from Stripe what a database lacks that lost commits."),
    Noun("twin", "Be a Stripe on a local port, with faults if you like."),
    Noun("demo", "Kill workers in mid-charge, then audit from Stripe's side."),
    Noun("sim", "Play worlds in which everything breaks, and audit them."),
    Noun("bench", "Measure the charge path beside pgbench."),
    Noun("doctor", "Check settings, database, clocks and Stripe key."),
    Noun("db", "The database's schema: where it stands; bring it up."),
    Noun("account", "Accounts and their connection to Stripe."),
    Noun("customer", "Customers, and what they are at Stripe."),
    Noun("invoice", "Import, show and collect invoices; tell one's story."),
    Noun("hold", "What is being charged or confirmed with Stripe, and why."),
    Noun("attempt", "Every try to charge, and what became of it."),
    Noun("dunning", "What is tried again after a decline, and by which policy."),
    Noun("price", "What subscriptions cost."),
    Noun("subscription", "Customers who are billed period by period."),
    Noun("link", "Links to the page where a customer pays."),
    Noun("payment", "Every payment, each recorded once."),
    Noun("webhook", "What we tell others: endpoints and deliveries."),
    Noun("notice", "What needs a person: list, show, resolve."),
    Noun("event", "What Stripe told, and what it did here."),
    Noun("key", "Keys of the API: create, list, rotate, revoke."),
    Noun("rules", "The tables by which everything is decided."),
)


def load(name: str) -> Any:
    """The command of a noun, from its file."""
    return typer.main.get_command(importlib.import_module(f"anchorhold.cli.{name}").app)


class Nouns(TyperGroup):
    """The program: lists its nouns without loading them, and loads the one that is asked for."""

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As usual, and then the noun's own command in place of its line in the help."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(name or ""), rest


def lines() -> dict[str, TyperCommand]:
    """A stand-in for each noun that carries its line in the help."""
    return {noun.name: TyperCommand(noun.name, help=noun.summary) for noun in NOUNS}

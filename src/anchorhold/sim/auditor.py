"""The auditor: invariants I1 to I9 (protocol section 13) from Stripe's side and from the rows.

It takes no word of the engine: it looks at the twin's ledger, at each charge as it leaves, and at
the rows that are left in the end.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from anchorhold.sim.statements import statement
from anchorhold.sim.world import World
from anchorhold.twin.journal import Entry
from anchorhold.twin.ledger import Ledger

Rows = dict[str, Any]

DUPLICATE = "payment.duplicate_charge"
PAYABLE = frozenset({"requires_payment_method", "requires_confirmation", "requires_action"})


@dataclass(slots=True)
class Auditor:
    """Watches one world; what it finds is in `violations`, each with its invariant in front."""

    world: World | None = None
    violations: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    """Ids of residuals that the world's mode states (protocol, holes R1 to R18)."""
    _sent: dict[str, int] = field(default_factory=dict)
    _keys: dict[tuple[str, int], str] = field(default_factory=dict)
    _events: int = 0
    """How many Stripe had made when the ledger was looked at last: nothing moves without one."""

    def leaving(self, key: str, url: str) -> None:
        """A charge leaves now: I4, I8 and I9 are looked at in this very moment."""
        world = self._of_world()
        if world.db.in_transaction():
            self.found("I8: a charge left while a transaction was open")
        given = {**world.scope.params, "key": key, "intent_id": url.split("/")[-2]}
        rows = world.db.execute(statement("sending"), given)
        if not rows:
            self.found("I9: a charge left without a committed trace")
            return
        self._trace(key, url, rows[0])

    def _trace(self, key: str, url: str, row: tuple[Any, ...]) -> None:
        attempt, invoice, seq, state, in_time, held = row
        if not held or not (state == "sending" or self._is_inert(url)):
            self.found(f"I9: a charge left while its attempt was {state}, held: {held}")
        if not in_time:
            self.found("I4: a charge left after its hold had ended")
        if attempt in self._sent:
            self.found("I9: an attempt was sent twice")
        if self._keys.setdefault((invoice, seq), key) != key:
            self.found("I1: one number of an invoice went out under two keys")
        self._sent[attempt] = len(self._of_world().twin.requests)

    def _is_inert(self, url: str) -> bool:
        """The intent has succeeded already, and cannot again: its attempt was proven by that."""
        intent = self._of_world().twin.accounts[0].payment_intents.get(url.split("/")[-2])
        return intent is not None and intent["status"] == "succeeded"

    def look(self) -> None:
        """After a step: one success at most that stands (I1), no hold without its attempt (I6)."""
        world = self._of_world()
        for broken, said in world.db.broken:
            self.found(f"{broken}: {said}")
        world.db.broken.clear()
        events = len(world.twin.accounts[0].events)
        if events != self._events:
            self._events = events
            if any(count > 1 for count in Ledger(world.twin).paid().values()):
                self.found("I1: an invoice was paid twice")

    def judge(self) -> Rows:
        """In the end, when nothing breaks any more; the rows that were judged."""
        rows = rows_of(self._of_world())
        for check in CHECKS:
            for found in check(self, rows):
                self.found(found)
        return rows

    def request_of(self, attempt: str) -> Entry | None:
        """What Stripe knows of an attempt's request."""
        number = self._sent.get(attempt)
        return None if number is None else self._of_world().twin.requests[number]

    @property
    def ledger(self) -> Ledger:
        """Stripe's side."""
        return Ledger(self._of_world().twin)

    def _of_world(self) -> World:
        assert self.world is not None
        return self.world

    def found(self, violation: str) -> None:
        """An invariant is broken; said once a world, and told in its story."""
        if violation not in self.violations:
            self.violations.append(violation)
            self._of_world().tell("AUDITOR", violation)


def rows_of(world: World) -> Rows:
    """Everything that the world's account holds."""
    ((found,),) = world.db.execute(statement("rows"), world.scope.params)
    return found if isinstance(found, dict) else json.loads(found)


def _every_success_is_recorded_once(auditor: Auditor, rows: Rows) -> Iterator[str]:
    at_stripe = sorted((p.intent, p.amount, p.currency) for _, p in auditor.ledger.payments())
    here = sorted((p["stripe_intent_id"], p["amount"], p["currency"]) for p in rows["payments"])
    if at_stripe != here:
        yield f"I2: {len(at_stripe)} successes at Stripe, {len(here)} payments recorded"


def _paid_is_paid(auditor: Auditor, rows: Rows) -> Iterator[str]:
    stands = auditor.ledger.paid()
    twice = {one["invoice_id"] for one in rows["notices"] if one["code"] == DUPLICATE}
    noticed = {one["invoice_id"] for one in rows["notices"] if one["code"].startswith("payment.")}
    for invoice in rows["invoices"]:
        paid = stands.get(invoice["id"], 0)
        if paid > 1 and invoice["id"] not in twice:
            yield "I1: an invoice was paid twice and nobody was told"
        if paid and invoice["status"] != "paid" and invoice["id"] not in noticed:
            yield f"I2: an invoice that Stripe was paid for is {invoice['status']}"
        known = {p["invoice_id"] for p in rows["payments"]}
        if invoice["status"] == "paid" and invoice["id"] not in known:
            yield "I1: an invoice is paid and no payment is recorded"


def _every_hold_ends(_auditor: Auditor, rows: Rows) -> Iterator[str]:
    for invoice in rows["invoices"]:
        if invoice["hold_attempt"] is not None:
            yield "I5: a hold is left"
        elif invoice["payment_status"] in {"unknown", "processing"}:
            yield f"I5: without a hold an invoice stays {invoice['payment_status']}"


def _ends_are_true(auditor: Auditor, rows: Rows) -> Iterator[str]:
    for attempt in rows["attempts"]:
        request = auditor.request_of(attempt["id"])
        executed = request is not None and request.executed
        if attempt["state"] == "not_sent" and executed:
            yield "I6: an attempt ended as not sent, and Stripe carried it out"
        if attempt["state"] == "succeeded" and not executed:
            yield "I6: an attempt ended as succeeded, and Stripe never carried it out"
        if attempt["state"] == "failed" and request is None:
            yield "I6: an attempt ended as failed, and its request never left"


def _closed_is_closed(auditor: Auditor, rows: Rows) -> Iterator[str]:
    closed = {one["id"] for one in rows["invoices"] if one["status"] in {"paid", "uncollectible"}}
    for intent in auditor.ledger.intents():
        invoice = intent["metadata"].get("anchorhold_invoice_id")
        known = any(i["stripe_intent_id"] == intent["id"] for i in rows["intents"])
        if invoice in closed and known and intent["status"] in PAYABLE:
            yield "I3: a closed invoice can still be paid"


CHECKS: tuple[Callable[[Auditor, Rows], Iterator[str]], ...] = (
    _every_success_is_recorded_once,
    _paid_is_paid,
    _every_hold_ends,
    _ends_are_true,
    _closed_is_closed,
)
"""What has to be so when nothing breaks any more."""

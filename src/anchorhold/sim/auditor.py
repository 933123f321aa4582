"""The auditor: invariants I1 to I9 (protocol section 13) from Stripe's side and from the rows.

It takes no word of the engine: it looks at the twin's ledger, at each charge as it leaves, and at
the rows after each step and in the end.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from anchorhold.domain.attempt import reference_of
from anchorhold.sim.residuals import Presumed, Success, residual
from anchorhold.sim.statements import statement
from anchorhold.sim.world import World
from anchorhold.twin.faults import FaultKind
from anchorhold.twin.journal import Entry
from anchorhold.twin.ledger import Ledger, Payment
from anchorhold.twin.wire import Obj

Rows = dict[str, Any]

DUPLICATE = "payment.duplicate_charge"
PAYABLE = frozenset({"requires_payment_method", "requires_confirmation", "requires_action"})
CLOSED = frozenset({"paid", "uncollectible", "void"})
RUNNING = frozenset({"claimed", "sending", "unknown"})
TOLD_NOTHING = frozenset({"S14", "S15"})
"""Rows of a check that was refused or got no answer: they keep the hold, whatever they say."""
DAY_S = 86_400
INVOICE = "anchorhold_invoice_id"
ATTEMPT = "anchorhold_attempt_id"


@dataclass(slots=True)
class Auditor:
    """Watches one world; what it finds is in `violations`, each with its invariant in front."""

    world: World | None = None
    violations: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    """Ids of residuals that the world's mode states, and that came to pass (holes R1 to R18)."""
    presumed: dict[str, Presumed] = field(default_factory=dict)
    """Direct attempts that ended without proof, as they were when that was seen first."""
    _sent: dict[str, list[int]] = field(default_factory=dict)
    """Places of each attempt's requests among all that the twin was sent."""
    _named: dict[str, str] = field(default_factory=dict)
    """Attempts by the reference that Stripe sees of them."""
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
        again = self._is_answered(key)
        marked = state == "sending" or (state == "unknown" and again)
        if not held or not (marked or self._is_inert(url)):
            self.found(f"I9: a charge left while its attempt was {state}, held: {held}")
        if not in_time:
            self.found("I4: a charge left after its hold had ended")
        if attempt in self._sent and not again:
            self.found("I9: an attempt was sent twice")
        if self._keys.setdefault((invoice, seq), key) != key:
            self.found("I1: one number of an invoice went out under two keys")
        world = self._of_world()
        self._named[reference_of(world.scope, invoice, seq)] = attempt
        place = len(world.twin.requests)
        self._sent.setdefault(attempt, []).append(place)

    def _is_answered(self, key: str) -> bool:
        """A create with this key ran within the day: Stripe repeats its answer and does nothing.

        So a fence may send a direct charge's parameters again (S10). A confirm is never repeated.
        """
        world = self._of_world()
        return any(
            entry.idempotency_key == key
            and entry.path == "/v1/payment_intents"
            and _has_its_key(entry)
            and world.clock() - entry.at < DAY_S
            for entry in world.twin.requests
        )

    def _is_inert(self, url: str) -> bool:
        """The intent has succeeded already, and cannot again: its attempt was proven by that."""
        intent = self._of_world().twin.accounts[0].payment_intents.get(url.split("/")[-2])
        return intent is not None and intent["status"] == "succeeded"

    def look(self) -> None:
        """After a step: one success at most that stands (I1), no hold without its attempt (I6)."""
        world = self._of_world()
        for broken, said, attempt in world.db.broken:
            if broken == "presumed":
                self.presumed.setdefault(attempt, Presumed(world.clock(), said))
            else:
                self.found(f"{broken}: {said}")
        world.db.broken.clear()
        events = len(world.twin.accounts[0].events)
        if events != self._events:
            self._events = events
            self._look_at_ledger()

    def _look_at_ledger(self) -> None:
        for payments in self.standing().values():
            if len(payments) > 1:
                self._twice(payments)

    def _twice(self, payments: list[tuple[Obj, Payment]]) -> None:
        """Two successes stand: a violation, or what this mode states that it cannot prevent."""
        mode = self._of_world().setting.mode
        id_ = residual(mode, [self._success(*payment) for payment in payments])
        if id_ is None:
            self.found("I1: an invoice was paid twice")
        elif id_ not in self.stated:
            self.stated.append(id_)
            self._of_world().tell("AUDITOR", f"{id_}: an invoice was paid twice, as stated")

    def _success(self, intent: Obj, payment: Payment) -> Success:
        attempt = self._named.get(intent["metadata"].get(ATTEMPT, ""), "")
        sent = min((entry.at for entry in self.requests_of(attempt)), default=None)
        return Success(payment.created, sent, self.presumed.get(attempt))

    def standing(self) -> dict[str, list[tuple[Obj, Payment]]]:
        """Successes that stand, by invoice: not refunded in full, and no dispute about it lost."""
        account = self._of_world().twin.accounts[0]
        lost = {one["charge"] for one in account.disputes if one["status"] == "lost"}
        found: dict[str, list[tuple[Obj, Payment]]] = {}
        for intent, payment in self.ledger.payments():
            if payment.net > 0 and payment.charge not in lost:
                invoice = intent["metadata"].get(INVOICE, "")
                found.setdefault(invoice, []).append((intent, payment))
        return found

    def look_for_unsaved(self, actor: str) -> None:
        """A success was heard and its caller was cancelled: it is saved all the same (3.5)."""
        given = {**self._of_world().scope.params, "actor": actor}
        if self._of_world().db.execute(statement("unsaved"), given):
            self.found("I2: a success was heard, its caller was cancelled, and it was not saved")

    def objects_to(self, rows: Rows) -> bool:
        """Something is still under way or due here, or a judgement now would not be in favour."""
        invoices = [one for one in rows["invoices"] if one["status"] == "open"]
        under_way = any(
            one["payment_status"] == "pending" and one["amount_due"] > one["amount_paid"]
            for one in invoices
        )
        return (
            under_way
            or any(one["hold_attempt"] for one in rows["invoices"])
            or any(one["status"] == "processing" for one in self.ledger.intents())
            or any(found for check in CHECKS for found in check(self, rows))
        )

    def judge(self) -> Rows:
        """In the end, when nothing breaks any more; the rows that were judged."""
        rows = rows_of(self._of_world())
        for check in CHECKS:
            for found in check(self, rows):
                self.found(found)
        return rows

    def requests_of(self, attempt: str) -> list[Entry]:
        """What Stripe knows of an attempt's requests."""
        requests = self._of_world().twin.requests
        return [requests[place] for place in self._sent.get(attempt, ())]

    def calls_for(self, invoice: str) -> bool:
        """The last visit has called a person for this invoice."""
        return invoice in self._of_world().alarms

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


def _has_its_key(entry: Entry) -> bool:
    """Stripe keeps the key for this request: it ran, runs still, or ended in a server error."""
    return entry.executed or entry.fault is FaultKind.LATE or (entry.status or 0) >= 500


def rows_of(world: World) -> Rows:
    """Everything that the world's account holds."""
    ((found,),) = world.db.execute(statement("rows"), world.scope.params)
    return found if isinstance(found, dict) else json.loads(found)


def _every_success_is_recorded_once(auditor: Auditor, rows: Rows) -> Iterator[str]:
    at_stripe = sorted((p.intent, p.amount, p.currency) for _, p in auditor.ledger.payments())
    ours = [one for one in rows["payments"] if one["stripe_intent_id"] is not None]
    here = sorted((p["stripe_intent_id"], p["amount"], p["currency"]) for p in ours)
    if at_stripe != here:
        yield f"I2: {len(at_stripe)} successes at Stripe, {len(here)} payments recorded"


def _paid_is_paid(auditor: Auditor, rows: Rows) -> Iterator[str]:
    stands = {invoice: len(payments) for invoice, payments in auditor.standing().items()}
    noticed = {one["invoice_id"] for one in rows["notices"] if one["code"].startswith("payment.")}
    known = {one["invoice_id"] for one in rows["payments"]}
    for invoice in rows["invoices"]:
        id_, status = invoice["id"], invoice["status"]
        if stands.get(id_) and status != "paid" and id_ not in noticed:
            yield f"I2: an invoice that Stripe was paid for is {status}"
        if status == "paid" and id_ not in known and invoice["amount_due"] > 0:
            yield "I1: an invoice is paid and no payment is recorded"


def _twice_is_told(auditor: Auditor, rows: Rows) -> Iterator[str]:
    """Whoever was paid twice, at Stripe or also elsewhere, has a notice about it."""
    paid = Counter({invoice: len(found) for invoice, found in auditor.standing().items()})
    paid.update(one["invoice_id"] for one in rows["payments"] if one["stripe_intent_id"] is None)
    told = {one["invoice_id"] for one in rows["notices"] if one["code"] == DUPLICATE}
    for invoice, count in paid.items():
        if count > 1 and invoice not in told:
            yield "I1: an invoice was paid twice and nobody was told"


def _every_hold_ends(auditor: Auditor, rows: Rows) -> Iterator[str]:
    """Or the last visit has called a person for it (S15)."""
    for invoice in rows["invoices"]:
        if invoice["hold_attempt"] is not None:
            if not auditor.calls_for(invoice["id"]):
                yield "I5: a hold is left"
        elif invoice["payment_status"] in {"unknown", "processing"}:
            yield f"I5: without a hold an invoice stays {invoice['payment_status']}"


def _ends_are_true(auditor: Auditor, rows: Rows) -> Iterator[str]:
    for attempt in rows["attempts"]:
        requests = auditor.requests_of(attempt["id"])
        executed = any(one.executed for one in requests)
        if attempt["state"] in {"not_sent", "fenced"} and executed:
            said = attempt["state"].replace("_", " ")
            yield f"I6: an attempt ended as {said}, and Stripe carried it out"
        if attempt["state"] not in RUNNING and attempt["rule"] in TOLD_NOTHING:
            yield "I6: an attempt ended by a check that Stripe told nothing"
        if attempt["state"] == "succeeded" and not executed:
            yield "I6: an attempt ended as succeeded, and Stripe never carried it out"
        if attempt["state"] == "failed" and not requests:
            yield "I6: an attempt ended as failed, and its request never left"


def _closed_is_closed(auditor: Auditor, rows: Rows) -> Iterator[str]:
    closed = {one["id"] for one in rows["invoices"] if one["status"] in CLOSED}
    known = {one["stripe_intent_id"] for one in rows["intents"]}
    for intent in auditor.ledger.intents():
        invoice = intent["metadata"].get(INVOICE)
        if invoice in closed and intent["id"] in known and intent["status"] in PAYABLE:
            yield "I3: a closed invoice can still be paid"


def _nothing_paid_is_closed(auditor: Auditor, rows: Rows) -> Iterator[str]:
    """What closes for good looks first; a write-off may look afterwards."""
    elsewhere = {one["invoice_id"] for one in rows["payments"] if one["stripe_intent_id"] is None}
    stands = auditor.standing()
    for invoice in rows["invoices"]:
        for_good = invoice["status"] == "void" or invoice["id"] in elsewhere
        if for_good and invoice["closed_at"] is not None:
            for _, payment in stands.get(invoice["id"], ()):
                if payment.created + 1 < invoice["closed_at"]:
                    yield "I3: an invoice was closed for good after Stripe was paid for it"


CHECKS: tuple[Callable[[Auditor, Rows], Iterator[str]], ...] = (
    _every_success_is_recorded_once,
    _paid_is_paid,
    _twice_is_told,
    _every_hold_ends,
    _ends_are_true,
    _closed_is_closed,
    _nothing_paid_is_closed,
)
"""What has to be so when nothing breaks any more."""

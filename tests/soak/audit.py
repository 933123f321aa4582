"""The audit of a soak: Stripe's ledger and request log against the rows, and nobody's word taken.

The demo's audit counts; this one adds what thousands of charges under trouble can break besides:
the numbers I1 to I9 are the invariants of docs/proof.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString, NamedTuple

from anchorhold.demo import audit as demo
from anchorhold.demo.workload import lines
from anchorhold.domain.ids import key_of
from anchorhold.twin.ledger import Payment
from tests.soak.database import Database
from tests.soak.scene import STALL_S
from tests.soak.stripe_side import StripeSide

ATTEMPTS: LiteralString = """
    SELECT account_id, invoice_id, id, seq, state, extract(epoch FROM hold_until)::float8
      FROM anchorhold.attempt WHERE kind IN ('auto', 'dunning', 'collect') ORDER BY id
"""
PAYMENTS: LiteralString = """
    SELECT stripe_intent_id, amount, currency FROM anchorhold.payment
     WHERE stripe_intent_id IS NOT NULL
"""
CLOSED_BY_HAND: LiteralString = """
    SELECT i.id FROM anchorhold.invoice i
     WHERE i.status = 'paid' AND (i.amount_due = 0 OR EXISTS (
           SELECT FROM anchorhold.payment p
            WHERE p.account_id = i.account_id AND p.livemode = i.livemode
              AND p.invoice_id = i.id AND p.source IN ('elsewhere', 'credit')))
"""
NAMED: LiteralString = """
    SELECT stripe_intent_id FROM anchorhold.intent WHERE stripe_intent_id IS NOT NULL
     UNION SELECT intent_id FROM anchorhold.attempt WHERE intent_id IS NOT NULL
"""
TOLD: LiteralString = """
    SELECT p.invoice_id, p.stripe_intent_id
      FROM anchorhold.payment p
      JOIN anchorhold.notice n
        ON n.account_id = p.account_id AND n.livemode = p.livemode
       AND n.invoice_id = p.invoice_id AND n.subject = p.stripe_intent_id
     WHERE n.code = 'payment.received_on_voided_invoice'
"""
INVOICES: LiteralString = "SELECT id, reference FROM anchorhold.invoice"
STATES: LiteralString = "SELECT state, count(*) FROM anchorhold.attempt GROUP BY 1 ORDER BY 1"
RULES: LiteralString = """
    SELECT rule, count(*) FROM anchorhold.attempt WHERE rule IS NOT NULL GROUP BY 1 ORDER BY 1
"""
NOTICES: LiteralString = """
    SELECT code || CASE WHEN resolved_at IS NULL THEN ', open' ELSE ', resolved' END, count(*)
      FROM anchorhold.notice GROUP BY 1 ORDER BY 1
"""
STANDING: LiteralString = """
    SELECT jsonb_build_array(
        (SELECT jsonb_agg(to_jsonb(i) - 'checked_at' - 'check_until' - 'provider_synced_at'
                          ORDER BY i.id) FROM anchorhold.invoice i),
        (SELECT jsonb_agg(to_jsonb(a) ORDER BY a.id) FROM anchorhold.attempt a),
        (SELECT jsonb_agg(to_jsonb(t) - 'watch_at' ORDER BY t.invoice_id, t.number)
           FROM anchorhold.intent t),
        (SELECT jsonb_agg(to_jsonb(p) ORDER BY p.id) FROM anchorhold.payment p),
        (SELECT count(*) FROM anchorhold.notice), (SELECT count(*) FROM anchorhold.journal))
"""
"""All that must stay as it is when everything is run once more (I7)."""

UNPROVEN = frozenset({"claimed", "sending", "unknown"})
ENDINGS: Mapping[str, str] = {
    "pm_card_visa": "paid",
    "pm_card_mastercard": "paid",
    "pm_card_chargeCustomerFail": "declined",
    "pm_card_authenticationRequired": "needs_customer",
}
"""How an invoice ends that is charged to such a card."""
CLOCKS_S = 0.5


class Attempt(NamedTuple):
    """A charge as its row tells it; `hold_until` in seconds since 1970."""

    account_id: str
    invoice_id: str
    id: str
    seq: int
    state: str
    hold_until: float

    @property
    def key(self) -> str:
        """Under which idempotency key its request goes out."""
        return key_of("charge", self.account_id, self.invoice_id, self.seq)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Both sides, read when everything had come to rest."""

    rows: Sequence[demo.InvoiceRow]
    references: Mapping[str, str]
    attempts: Sequence[Attempt]
    recorded: Sequence[tuple[str | None, int, str]]
    at_stripe: Mapping[str, Sequence[Payment]]
    charges: Sequence[Mapping[str, Any]]
    """Requests to Stripe that went out to take money, and whose attempts the database has."""
    intents: Sequence[Mapping[str, Any]] = ()
    """As Stripe has them."""
    named: frozenset[str] = frozenset()
    """Intents whose id was ever told. One that Stripe made beside a saved 500 has no name here:
    without payment method and client secret nobody can pay it, and the next number stands for it.
    """
    touched: frozenset[str] = frozenset()
    """Invoices that operators closed or changed, or tried to."""
    slowest_s: float = STALL_S
    """How long a request that was sent in time may have been on its way."""
    paid_elsewhere: frozenset[str] = frozenset()
    told: frozenset[tuple[str, str]] = frozenset()
    """Invoice and intent of payments for a void invoice, each with its notice: a person gives them
    back. They come where an operator voids what was paid in seconds that the database lost.
    """
    direct: bool = False
    """Then some charges are fences, which a request log without bodies does not tell."""


Findings = dict[str, list[str]]
"""By what is wrong: the invoices, attempts or requests of which it is."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What it came to; `findings` is empty when nothing is wrong."""

    counted: demo.Findings
    findings: Findings
    states: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    notices: Mapping[str, int] = field(default_factory=dict)


async def gather(database: Database, stripe: StripeSide, *, direct: bool) -> Evidence:
    """Both sides as they stand now."""
    requests = await stripe.requests()
    return Evidence(
        rows=demo.read_rows(database.conninfo),
        references=dict(await database.rows(INVOICES)),
        attempts=[Attempt(*row) for row in await database.rows(ATTEMPTS)],
        recorded=await database.rows(PAYMENTS),
        at_stripe=await stripe.payments(),
        charges=[
            one
            for one in requests
            if takes_money(one, direct=direct) and not _was_lost(one, database, stripe)
        ],
        direct=direct,
        slowest_s=stripe.slowest_s,
        intents=await stripe.intents(),
        told=frozenset((invoice, intent) for invoice, intent in await database.rows(TOLD)),
        named=frozenset(id_ for (id_,) in await database.rows(NAMED)),
        paid_elsewhere=frozenset(id_ for (id_,) in await database.rows(CLOSED_BY_HAND)),
    )


def takes_money(request: Mapping[str, Any], *, direct: bool) -> bool:
    """Whether the request was sent to confirm an intent, in direct mode with its creation."""
    path = str(request["path"])
    creates = direct and path == "/v1/payment_intents"
    return request["method"] == "POST" and (creates or path.endswith("/confirm"))


def _was_lost(request: Mapping[str, Any], database: Database, stripe: StripeSide) -> bool:
    """Its attempt was committed in seconds that the database lost for good."""
    at, slack = float(request["at"]), stripe.slowest_s + CLOCKS_S
    return any(began <= at <= ended + slack for began, ended in database.lost)


def judge(evidence: Evidence) -> tuple[demo.Findings, Findings]:
    """The counts of the demo's audit, and everything that is wrong, by its name."""
    standing = {
        invoice: [one for one in found if (invoice, one.intent) not in evidence.told]
        for invoice, found in evidence.at_stripe.items()
    }
    counted = demo.audit(
        [row for row in evidence.rows if not _is_paid_elsewhere(evidence, row)], standing
    )
    names = ("double_charges", "lost_payments", "wrong_amounts", "holds_left", "unbacked")
    found: Findings = {name: [*counted.named] for name in names if getattr(counted, name)}
    for name, check in CHECKS.items():
        if wrong := [*check(evidence)]:
            found[name] = wrong
    return counted, found


def _is_paid_elsewhere(evidence: Evidence, row: demo.InvoiceRow) -> bool:
    """Nothing has to be at Stripe for it; and if anything is, it is a stranger's to the audit."""
    return row.id in evidence.paid_elsewhere


def _ended_otherwise(evidence: Evidence) -> Iterator[str]:
    methods = {line.reference: line.payment_method for line in lines(len(evidence.rows))}
    for row in evidence.rows:
        reference = evidence.references[row.id]
        if row.id in evidence.touched:
            continue
        if row.ending != (right := ENDINGS[methods[reference]]):
            yield f"{reference} {row.id} is {row.ending}, and its card says {right}"


def _recorded_otherwise(evidence: Evidence) -> Iterator[str]:
    here = Counter(
        f"{intent} {amount} {currency}" for intent, amount, currency in evidence.recorded
    )
    succeeded = [one for found in evidence.at_stripe.values() for one in found]
    there = Counter(f"{one.intent} {one.amount} {one.currency}" for one in succeeded)
    yield from (f"{payment} was recorded and is not Stripe's" for payment in here - there)
    yield from (f"{payment} succeeded and was not recorded" for payment in there - here)


def _unproven(evidence: Evidence) -> Iterator[str]:
    yield from (f"{one.id} is {one.state}" for one in evidence.attempts if one.state in UNPROVEN)
    for row in evidence.rows:
        if row.payment_status in {"unknown", "processing"}:
            yield f"{row.id} is {row.payment_status}"


def _executed_as_not_sent(evidence: Evidence) -> Iterator[str]:
    """A key whose every attempt ended as not sent, and Stripe carried its request out."""
    executed = {one["idempotency_key"] for one in evidence.charges if one["executed"]}
    states = defaultdict(set)
    for one in evidence.attempts:
        states[one.key].add(one.state)
    for one in evidence.attempts:
        if states[one.key] == {"not_sent"} and one.key in executed:
            yield f"{one.id} of {one.invoice_id} ended as not sent"


def _without_a_trace(evidence: Evidence) -> Iterator[str]:
    known = {one.key for one in evidence.attempts}
    for request in evidence.charges:
        if request["idempotency_key"] not in known:
            yield f"request {request['number']} {request['path']}"


def _after_the_hold(evidence: Evidence) -> Iterator[str]:
    """Arrived at Stripe later than the hold and the slowest passage allow.

    A fence goes out under a hold of its own, so nothing is said about direct mode.
    """
    if evidence.direct:
        return
    ends: dict[str, float] = {}
    for one in evidence.attempts:
        ends[one.key] = max(one.hold_until, ends.get(one.key, 0))
    for request in evidence.charges:
        end = ends.get(str(request["idempotency_key"]))
        if end is not None and request["at"] > end + evidence.slowest_s + CLOCKS_S:
            yield f"request {request['number']} came {request['at'] - end:.1f} s after its hold"


def _twice_under_way(evidence: Evidence) -> Iterator[str]:
    """The claim of an attempt whose seq another charge of the invoice has, not_sent apart."""
    seen: set[tuple[str, int]] = set()
    for one in evidence.attempts:
        if one.state == "not_sent":
            continue
        if (one.invoice_id, one.seq) in seen:
            yield f"{one.id} of {one.invoice_id} is the second with number {one.seq}"
        seen.add((one.invoice_id, one.seq))


def _payable_when_closed(evidence: Evidence) -> Iterator[str]:
    closed = {row.id: row.status for row in evidence.rows if row.status != "open"}
    for intent in evidence.intents:
        invoice = intent["metadata"].get("anchorhold_invoice_id", "")
        payable = str(intent["status"]).startswith("requires_")
        if invoice in closed and payable and intent["id"] in evidence.named:
            yield f"{intent['id']} of {invoice} ({closed[invoice]}) is {intent['status']}"


CHECKS: Mapping[str, Callable[[Evidence], Iterator[str]]] = {
    "ended otherwise than the card says": _ended_otherwise,
    "I2: recorded otherwise than it is at Stripe": _recorded_otherwise,
    "I5: attempts never proven": _unproven,
    "I6: ended as not sent, and Stripe carried it out": _executed_as_not_sent,
    "I9: sent without a committed trace": _without_a_trace,
    "I4: sent after the hold": _after_the_hold,
    "I3: a closed invoice can still be paid": _payable_when_closed,
    "I1: two charges with one number": _twice_under_way,
}
"""What is looked for beside the demo's audit."""

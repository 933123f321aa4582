"""An invoice's journal told as sentences: what happened, who did it, by which rule, when.

`SENTENCES` has one for every `what` that the store writes; a test reads the store's statements and
fails when one is missing.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from anchorhold.cli import words
from anchorhold.cli.output import wrapped
from anchorhold.domain.attempt import Cause
from anchorhold.domain.closing import CLOSING, FINAL_ACTIONS
from anchorhold.domain.outcome import OUTCOME, Meaning
from anchorhold.store.views_journal import JournalEntry

KEPT_CLAIM: Final = "attempt.claimed, kept"
"""An end that leaves the attempt as claimed is written under the same word as the claim."""

REFUSED: Final = "attempt.failed, refused"
"""Stripe's refusal of a request ends an attempt as a bank's decline does."""

NEXT_INTENT: Final = "attempt.superseded, canceled"
"""Superseded because its intent is cancelled, so the next attempt cannot confirm that one."""

KEY_REUSED: Final = "attempt.sending, key used before"
NOT_SHOWN: Final = "attempt.sending, intent not shown"
KEPT_BY_CAUSE: Final = {
    Cause.KEY_REUSED.value: KEY_REUSED,
    Cause.INTENT_NOT_SHOWN.value: NOT_SHOWN,
}
"""Rows A9 and A11 keep the hold for reasons of their own."""

CLOSE_KEPT: Final = "hold.kept, by a close"
CLOSE_ENDED: Final = "attempt.not_sent, by a close"
BY_CLOSE: Final = {"hold.kept": CLOSE_KEPT, "attempt.not_sent": CLOSE_ENDED}
"""What comes to an end or is kept by a row of closing was no charge."""

CLOSES: Final = frozenset(row.id for row in (*CLOSING, *FINAL_ACTIONS))

SETUP_FAULTS: Final = frozenset(row.id for row in OUTCOME if row.meaning is Meaning.SETUP_FAULT)

SENTENCES: Final[Mapping[str, str]] = {
    "invoice.opened": "the invoice was opened as {reference}",
    "intent.prepared": "PaymentIntent {stripe_intent_id} was prepared (number {number})",
    "intent.used_up": "PaymentIntent number {number} is used up: {reason}",
    "intent.canceled": "PaymentIntent {stripe_intent_id} is cancelled; the next can be prepared",
    "collection.blocked": "collecting is blocked: Stripe refused the set-up ({error})",
    "collection.unblocked": "another card, or one that was mended: it may be charged again",
    "attempt.claimed": "took the hold for {kind}, {money}, until {hold_until}",
    KEPT_CLAIM: "the PaymentIntent could not be cancelled yet{why}; the hold stays",
    "attempt.sending": "another request is at work at Stripe; the hold stays",
    KEY_REUSED: "an earlier request under this key did reach Stripe; the hold stays",
    NOT_SHOWN: "Stripe does not show the PaymentIntent to this key; the hold stays",
    "attempt.succeeded": "the charge succeeded",
    "attempt.failed": "the bank declined: {declined}",
    REFUSED: "Stripe refused the request before any charge: {declined}; collecting is blocked",
    "attempt.processing": "the bank decides later: the PaymentIntent is followed",
    "attempt.unknown": f"no clear answer{{why}}: {words.CONFIRMING}, the hold stays",
    "attempt.not_sent": "nothing was sent{why}; the hold is released",
    "attempt.superseded": "Stripe shows no charge of this attempt{why}; the next one confirms the "
    "same PaymentIntent, which succeeds at most once",
    NEXT_INTENT: "Stripe shows no charge of this attempt, and its PaymentIntent is cancelled; the "
    "next one can be prepared",
    "attempt.fenced": "its idempotency key proved that the charge never ran, and now it cannot",
    "attempt.presumed_none": "Stripe showed nothing for this attempt{why}; it is presumed not to "
    "exist, and looked for once more before anything else is done",
    "attempt.interrupted": "its sender was stopped before Stripe's answer came; the hold stays",
    "hold.taken_over": "the sweep took the hold over until {hold_until} to ask by the charge's key",
    CLOSE_KEPT: "Stripe's answer to the cancel is not clear{why}; nothing was closed, the hold "
    "stays",
    CLOSE_ENDED: "nothing was closed{why}; the hold is released",
    "invoice.void": "made void, {money} was due: {reason}",
    "invoice.write_off": "written off, {money} was due: {reason}",
    "invoice.paid_elsewhere": "{money} was paid outside of Stripe: {reference}",
    "invoice.credit": "{money} was paid with the customer's credit",
    "invoice.nothing_due": "nothing was due, so it is paid",
    "invoice.amended": "what is due was changed to {money}: {reason}",
    "intent.abandoned": "PaymentIntent {stripe_intent_id} in another Stripe account was given up: "
    "{reason}",
    "page.opened": "the payment page was opened; PaymentIntent {stripe_intent_id} can be paid",
    "link.made": "link {link_id} to the payment page was made",
    "link.revoked": "link {link_id} to the payment page was revoked",
    "hold.kept": "asked Stripe and kept the hold{why}",
    "intent.recovered": "PaymentIntent {stripe_intent_id}, lost by the database, was found at "
    "Stripe (number {number})",
    "following.began": "PaymentIntent {stripe_intent_id} is followed from now on",
    "following.ended": "the followed PaymentIntent ended without money: {declined}",
    "payment.paid": "paid: {money}, the news came from the {source}",
    "payment.overpaid": "paid, and more than was due: {money}; a person decides about the rest",
    "payment.short": "{money} arrived, less than was due; only a person collects the rest",
    "payment.duplicate": "a second payment of {money} arrived; a person refunds one",
    "payment.voided": "{money} arrived on a void invoice; a person decides",
    "payment.refunded": "{money} had arrived and was given back in full; a person decides",
    "refund.requested": "a refund of {money} was asked for: {reason}",
    "refund.refused": "Stripe refused the refund; nothing was given back{why}",
    "refund.not_made": "Stripe showed no refund for the request within a day; nothing was given "
    "back",
    "refund.pending": "{money} is being given back; the bank decides later",
    "refund.requires_action": "{money} is being given back once the customer says where to",
    "refund.succeeded": "{money} was given back",
    "refund.failed": "the refund of {money} failed: the customer has no money back",
    "refund.canceled": "the refund of {money} was cancelled: the customer has no money back",
    "dispute.inquiry": "the bank asks about the payment; no money moved",
    "dispute.open": "the customer disputes {money}; the bank decides",
    "dispute.won": "the dispute was won: {money} is back",
    "dispute.lost": "the dispute was lost, or the debit was returned: {money} is owed again; only "
    "a person collects it",
    "dispute.closed": "the bank's question is closed; no money moved",
    "dunning.opened": "its dunning began",
    "dunning.step": "dunning step {number} ({kind}): {said}",
    "dunning.paused": "its dunning is paused: {reason}",
    "dunning.resumed": "its dunning goes on: {reason}",
    "dunning.finished": "its dunning ended: {outcome}",
    "notice.resolved": "notice {notice_id} was resolved: {resolution}",
    "payment.known": "the payment of {money} was recorded before; nothing changed but the hold",
}


def sentence(entry: JournalEntry) -> str:
    """What happened, in one sentence; a `what` that has none is said as it is stored."""
    what = _told_apart(entry)
    template = SENTENCES.get(what, what.replace(".", " ").replace("_", " "))
    return template.format_map(defaultdict(lambda: "?", _facts(entry.detail)))


def _told_apart(entry: JournalEntry) -> str:
    """What happened, where the store writes one word for two things."""
    match entry.what:
        case "attempt.claimed" if "hold_until" not in entry.detail:
            return KEPT_CLAIM
        case "attempt.failed" if entry.rule in SETUP_FAULTS:
            return REFUSED
        case "attempt.superseded" if entry.detail.get("cause") == Cause.INTENT_CANCELED:
            return NEXT_INTENT
        case "hold.kept" | "attempt.not_sent" if entry.rule in CLOSES:
            return BY_CLOSE[entry.what]
        case "attempt.sending":
            return KEPT_BY_CAUSE.get(str(entry.detail.get("cause")), entry.what)
        case _:
            return entry.what


def _facts(detail: Mapping[str, object]) -> dict[str, str]:
    """The facts that the sentences name."""
    decline = detail.get("decline")
    facts = {name: str(value) for name, value in detail.items()}
    facts["declined"] = words.said(decline) if isinstance(decline, dict) else "it gave no reason"
    facts["error"] = words.said(detail)
    facts["why"] = _why(detail)
    facts["kind"] = KINDS.get(str(detail.get("kind")), str(detail.get("kind")))
    amount, currency = detail.get("amount"), detail.get("currency")
    if isinstance(amount, int) and isinstance(currency, str):
        facts["money"] = words.money(amount, currency)
    if isinstance(until := detail.get("hold_until"), str):
        facts["hold_until"] = words.exact(datetime.fromisoformat(until))
    return facts


def _why(detail: Mapping[str, object]) -> str:
    reason = detail.get("error") or str(detail.get("cause") or "").replace("_", " ")
    return f" ({reason})" if reason else ""


KINDS: Final = {
    "auto": "an automatic charge",
    "dunning": "a dunning retry",
    "collect": "an operator's charge",
    "close": "closing the invoice",
    "amend": "changing what is due",
    "final_action": "dunning's final action",
}


def line(entry: JournalEntry) -> str:
    """One act of the story: time, rule, what happened and who did it."""
    start = f"{words.exact(entry.at)}  {entry.rule or '':<4}  "
    return wrapped(f"{start}{sentence(entry)}  ({entry.actor})", len(start))

"""Attempts that Stripe showed nothing of for a day; each may still turn out to have paid."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.answer import IntentView
from anchorhold.domain.attempt import reference_of
from anchorhold.domain.ids import AttemptId, InvoiceId
from anchorhold.domain.intent import METADATA_ATTEMPT, METADATA_FENCE
from anchorhold.domain.scope import Scope


@dataclass(frozen=True, slots=True)
class Presumed:
    """One such attempt. `known_intents`: of the whole invoice, those with a payment of ours."""

    attempt_id: AttemptId
    seq: int
    stripe_account: str
    stripe_customer_id: str
    claimed_at: datetime
    known_intents: tuple[str, ...]
    now: datetime


def maker_among(
    scope: Scope, invoice_id: InvoiceId, rows: Sequence[Presumed], intent: IntentView
) -> AttemptId | None:
    """The attempt that the intent names as its own."""
    named = intent.metadata.get(METADATA_ATTEMPT)
    if METADATA_FENCE in intent.metadata:
        return None
    mine = (row for row in rows if reference_of(scope, invoice_id, row.seq) == named)
    return next((row.attempt_id for row in mine), None)

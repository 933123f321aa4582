"""What Python calls a closed set is the list that the column's CHECK allows."""

import importlib
import typing
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum

import pytest

from anchorhold.domain import event_delivery
from anchorhold.domain.access import Action
from anchorhold.domain.account import AfterPresumedNone, ChargeMode, SweepMode
from anchorhold.domain.answer import IntentStatus
from anchorhold.domain.api_key import KeyKind
from anchorhold.domain.attempt import CLAIMS_FROM, AttemptKind, AttemptState, Cause
from anchorhold.domain.closing import Act, FinalAction
from anchorhold.domain.disputes import Dispute
from anchorhold.domain.dunning import Outcome, StepKind, StepState
from anchorhold.domain.hold import HoldState
from anchorhold.domain.intent import IntentState
from anchorhold.domain.invoice import BlockedReason, Collection, InvoiceStatus, PaymentStatus
from anchorhold.domain.news import EventSource, EventState
from anchorhold.domain.page_link import LinkState, Locale
from anchorhold.domain.payment import Source, Verdict
from anchorhold.domain.period import Unit
from anchorhold.domain.price import Billing, Scheme
from anchorhold.domain.recovering import Phase
from anchorhold.domain.refund import RefundState
from anchorhold.domain.subscription import PauseReason, SubscriptionStatus
from anchorhold.domain.webhook import DeliveryState
from tests.store.catalogue import lists
from tests.store.scene import Scene
from tests.store.statements import STORE

COLUMNS: dict[tuple[str, str], set[str]] = {
    ("invoice", "status"): set(InvoiceStatus),
    ("invoice", "payment_status"): set(PaymentStatus),
    ("invoice", "collection"): set(Collection),
    ("invoice", "blocked_reason"): set(BlockedReason),
    ("intent", "state"): set(IntentState),
    ("api_key", "kind"): set(KeyKind),
    ("attempt", "kind"): set(AttemptKind),
    ("attempt", "state"): set(AttemptState),
    ("attempt", "cause"): set(Cause),
    ("attempt", "found_status"): {status for found in CLAIMS_FROM.values() for status in found},
    ("payment", "source"): set(Source),
    ("webhook_delivery", "state"): set(DeliveryState),
    ("event_delivery", "verdict"): set(event_delivery.Verdict),
    ("event_delivery", "signature"): set(event_delivery.Signature),
    ("account", "charge_mode"): set(ChargeMode),
    ("attempt", "charge_mode"): set(ChargeMode),
    ("recovery", "phase"): set(Phase),
    ("account", "sweep_mode"): set(SweepMode),
    ("account", "after_presumed_none"): set(AfterPresumedNone),
    ("event", "source"): set(EventSource),
    ("event", "state"): set(EventState),
    ("payment", "dispute"): set(Dispute),
    ("refund", "state"): set(RefundState),
    ("dunning_policy", "final_action"): set(FinalAction),
    ("dunning_run", "next_step"): set(StepKind),
    ("dunning_run", "outcome"): set(Outcome),
    ("dunning_step", "kind"): set(StepKind),
    ("dunning_step", "state"): set(StepState),
    ("page_link", "locale"): set(Locale),
    ("price", "scheme"): set(Scheme),
    ("price", "interval_unit"): set(Unit),
    ("price", "billing"): set(Billing),
    ("subscription", "interval_unit"): set(Unit),
    ("subscription", "billing"): set(Billing),
    ("subscription", "collection"): set(Collection),
    ("subscription", "status"): set(SubscriptionStatus),
    ("subscription", "pause_reason"): set(PauseReason),
}
COMPUTED = {HoldState, Verdict, Act, Action, LinkState}
"""Said by a statement, and in no column."""
SHOWN = {IntentStatus}
"""Stripe's, of what a statement is told about; in no column."""


@pytest.mark.parametrize("column", COLUMNS, ids=".".join)
def test_the_column_allows_what_python_knows(column: tuple[str, str], scene: Scene) -> None:
    assert lists(scene)[column] == COLUMNS[column]


def test_every_list_of_the_schema_is_in_the_table(scene: Scene) -> None:
    assert set(lists(scene)) == set(COLUMNS)


def test_every_enum_that_the_store_reads_is_held_by_a_check() -> None:
    held = {
        kind for kind in set(_enums()) if any(set(kind) == allowed for allowed in COLUMNS.values())
    }
    assert held | COMPUTED | SHOWN == set(_enums())


def _enums() -> Iterator[type[Enum]]:
    """The enums that are fields of what a function of the store returns or takes."""
    for path in STORE.glob("*.py"):
        for value in vars(importlib.import_module(f"anchorhold.store.{path.stem}")).values():
            if isinstance(value, type) and is_dataclass(value):
                for hint in typing.get_type_hints(value).values():
                    yield from _within(hint)


def _within(hint: object) -> Iterator[type[Enum]]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield hint
    for part in typing.get_args(hint):
        yield from _within(part)

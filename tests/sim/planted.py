"""Bugs that somebody could make, planted one at a time: each drops one sentence of the protocol."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from anchorhold.domain import outcome
from anchorhold.domain.answer import Deadline
from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.hold import Claim, Sending
from anchorhold.domain.ids import key_of
from anchorhold.domain.intent import confirm_params
from anchorhold.domain.outcome import ENDS, Meaning
from anchorhold.engine import charge
from anchorhold.sim.db import WorldDb
from anchorhold.store import holds

Plant = Callable[[pytest.MonkeyPatch], None]
LONG = 10**9


@dataclass(frozen=True)
class Bug:
    """One planted bug: its name, how it is planted, and what the auditor calls it (a beginning)."""

    name: str
    plant: Plant
    found_as: tuple[str, ...]
    seeds: range = range(120)
    """Where it is looked for; a rare one later, so that the test is short."""


def without(*pairs: tuple[str, str], where: str = "") -> Plant:
    """The store's statements with these words exchanged; `where` names the ones it is about."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        real = WorldDb.execute

        def execute(self: WorldDb, query: bytes, params: dict[str, Any]) -> Any:
            text = query.decode()
            if where in text:
                for old, new in pairs:
                    text = text.replace(old, new)
            return real(self, text.encode(), params)

        patch.setattr(WorldDb, "execute", execute)

    return plant


def ends(meaning: Meaning, **changes: Any) -> Plant:
    """Another end for a meaning."""
    return lambda patch: patch.setitem(ENDS, meaning, dataclasses.replace(ENDS[meaning], **changes))


def _recheck_dropped(patch: pytest.MonkeyPatch) -> None:
    async def recheck(db: Any, _claim: Claim, _timing: Any, **_rest: Any) -> Sending:
        until = Deadline(db.monotonic() + LONG)
        return Sending(until, until)

    patch.setattr(holds, "recheck", recheck)


def _no_deadline(patch: pytest.MonkeyPatch) -> None:
    real = holds.recheck

    async def recheck(*args: Any, **rest: Any) -> Sending | None:
        sending = await real(*args, **rest)
        until = Deadline(args[0].monotonic() + LONG)
        return Sending(until, until) if sending else None

    patch.setattr(holds, "recheck", recheck)


def _key_per_kind(patch: pytest.MonkeyPatch) -> None:
    def request(claim: Claim) -> tuple[str, dict[str, object]]:
        token = claim.token
        parts = (claim.kind.value, token.scope.account_id, token.invoice_id, token.seq)
        return key_of("charge", *parts), confirm_params(claim)

    patch.setattr(charge, "_request", request)


def _row(table: Any, name: str, id_: str, **changes: Any) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        rows = tuple(
            dataclasses.replace(row, **changes) if row.id == id_ else row
            for row in getattr(table, name)
        )
        patch.setattr(table, name, rows)

    return plant


BUGS = (
    Bug(
        "a claim ignores the hold",
        without(("AND i.hold_until IS NULL", ""), where="attempt.claimed"),
        ("loud: a process raised UniqueViolation",),
    ),
    Bug(
        "a clear compares neither attempt nor its state",
        without(
            ("AND i.hold_until = %(hold_until)s\n", "\n"),
            ("AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s\n", "\n"),
            ("AND a.state = ANY(%(states)s)", ""),
            where="left_behind",
        ),
        ("I6: a hold ended while its attempt",),
        range(220, 340),
    ),
    Bug(
        "an unclear answer releases the hold",
        ends(
            Meaning.ASK,
            state=AttemptState.NOT_SENT,
            clears=True,
            payment_status=None,
        ),
        ("I6: an attempt ended as not sent",),
    ),
    Bug(
        "a payment is inserted without ON CONFLICT",
        without(("ON CONFLICT (account_id, livemode, stripe_intent_id) DO NOTHING", "")),
        ("loud: a process raised UniqueViolation",),
        range(230, 350),
    ),
    Bug("the re-check is dropped", _recheck_dropped, ("I9",)),
    Bug(
        "the re-check marks the attempt and compares nothing",
        without(
            ("AND i.hold_until = %(hold_until)s\n", "\n"),
            ("AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s\n", "\n"),
            ("AND i.hold_until - anchorhold.now() >= make_interval(secs => %(min_left_s)s)", ""),
            ("AND a.state = 'claimed'", ""),
            where="WITH eased AS",
        ),
        ("loud: a process raised TypeError", "I9"),
    ),
    Bug("the key depends on the kind of attempt", _key_per_kind, ("I1: one number",)),
    Bug("the deadline does not end with the hold", _no_deadline, ("I4",)),
    Bug(
        "the counter stays where it is",
        without(("charge_seq = i.charge_seq + %(moves_seq)s::int", "charge_seq = i.charge_seq")),
        ("loud: a process raised UniqueViolation",),
    ),
    Bug(
        "a cleared unknown stays unknown",
        without(("THEN e.found_status", "THEN i.payment_status")),
        ("I5",),
    ),
    Bug(
        "an expired hold is taken for free",
        without(
            ("AND i.hold_until IS NULL", "AND coalesce(i.hold_until < anchorhold.now(), true)"),
            where="attempt.claimed",
        ),
        ("loud: a process raised UniqueViolation",),
    ),
    Bug(
        "a server error is taken for a refusal",
        _row(outcome, "OUTCOME", "A16", meaning=Meaning.NOT_SENT),
        ("I6: an attempt ended as not sent",),
    ),
)

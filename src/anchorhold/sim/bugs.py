"""Bugs that somebody could make, planted one at a time: each drops one sentence of the protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from anchorhold.domain import closing, following, outcome, sweep, watching
from anchorhold.domain.answer import Deadline
from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.hold import Claim, Sending
from anchorhold.domain.ids import key_of
from anchorhold.domain.intent import confirm_params
from anchorhold.domain.outcome import Meaning
from anchorhold.engine import charge, fence
from anchorhold.sim.mode import Mode
from anchorhold.sim.planting import Plant, both, ends, exchanged, row, without
from anchorhold.sim.shield import Shield
from anchorhold.store import holds
from anchorhold.stripe.api import StripeProvider

LONG = 10**9


@dataclass(frozen=True, slots=True)
class Bug:
    """One planted bug. `holes`: the counterexamples of the protocol's models that it brings back.

    `found_as` is how the auditor's words begin when it is found.
    """

    name: str
    plant: Plant
    found_as: tuple[str, ...]
    holes: str = ""
    first_seed: int = 0
    """Where a test looks for it first; a rare one later, so that looking is short."""
    mode: Mode = Mode.PREPARED


def _recheck_dropped(_real: Any) -> Callable[..., Any]:
    async def recheck(db: Any, _claim: Claim, _timing: Any, **_rest: Any) -> Sending:
        until = Deadline(db.monotonic() + LONG)
        return Sending(until, until)

    return recheck


def _no_deadline(real: Any) -> Callable[..., Any]:
    async def recheck(*args: Any, **rest: Any) -> Sending | None:
        sending = await real(*args, **rest)
        until = Deadline(args[0].monotonic() + LONG)
        return Sending(until, until) if sending else None

    return recheck


def _key_per_kind(_real: Any) -> Callable[..., Any]:
    def request(claim: Claim) -> tuple[str, dict[str, object]]:
        token = claim.token
        parts = (claim.kind.value, token.scope.account_id, token.invoice_id, token.seq)
        return key_of("charge", *parts), confirm_params(claim)

    return request


def _resent(real: Any) -> Callable[..., Any]:
    async def confirm(self: Any, intent: str, params: Any, key: str, deadline: Any) -> Any:
        answer = await real(self, intent, params, key, deadline)
        if type(answer).__name__ in {"Unclear", "NothingSent"}:
            answer = await real(self, intent, params, key, deadline)
        return answer

    return confirm


def _unshielded(_real: Any) -> Callable[..., Any]:
    async def save(_self: Shield, work: Callable[[], Any]) -> Any:
        return await work()

    return save


def _the_charge_itself(_real: Any) -> Callable[..., Any]:
    return dict


def _not_looked_for(_real: Any) -> Callable[..., Any]:
    async def relist(*_args: Any) -> None:
        return None

    return relist


BUGS: Final = (
    Bug(
        "a claim ignores the hold",
        without(("AND i.hold_until IS NULL", ""), where="attempt.claimed"),
        ("loud: a process raised UniqueViolation",),
        "H10",
    ),
    Bug(
        "an expired hold is taken for free",
        without(
            ("AND i.hold_until IS NULL", "AND coalesce(i.hold_until < anchorhold.now(), true)"),
            where="attempt.claimed",
        ),
        ("loud: a process raised UniqueViolation", "I6"),
        "the old rule",
    ),
    Bug(
        "a clear compares neither attempt nor its state",
        without(
            ("AND i.hold_until = %(hold_until)s\n", "\n"),
            ("AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s\n", "\n"),
            ("AND a.state = ANY(%(states)s)", ""),
            where="left_behind",
        ),
        ("I6: a hold ended while its attempt", "I6: an attempt ended", "loud"),
        "H2 H7",
    ),
    Bug(
        "an unclear answer releases the hold",
        ends(Meaning.ASK, state=AttemptState.NOT_SENT, clears=True, payment_status=None),
        ("I6: an attempt ended as not sent",),
        "H1",
    ),
    Bug(
        "a server error is taken for a refusal",
        row(outcome, "OUTCOME", "A16", meaning=Meaning.NOT_SENT),
        ("I6: an attempt ended as not sent",),
        "H1",
    ),
    Bug(
        "another request at work is taken for a refusal",
        both(
            row(outcome, "OUTCOME", "A13", meaning=Meaning.NOT_SENT),
            row(outcome, "OUTCOME", "A15", meaning=Meaning.NOT_SENT),
            row(outcome, "OUTCOME", "A18", meaning=Meaning.NOT_SENT),
        ),
        ("I6: an attempt ended as not sent",),
        "H3 H14",
    ),
    Bug(
        "a payment is inserted without ON CONFLICT",
        without(("ON CONFLICT (account_id, livemode, stripe_intent_id) DO NOTHING", "")),
        ("loud: a process raised UniqueViolation",),
    ),
    Bug(
        "the re-check is dropped",
        exchanged(holds, "recheck", _recheck_dropped),
        ("I9",),
    ),
    Bug(
        "the re-check marks the attempt and compares nothing",
        without(
            ("AND i.hold_until = %(hold_until)s\n", "\n"),
            ("AND i.hold_attempt = %(attempt_id)s AND i.charge_seq = %(seq)s\n", "\n"),
            ("AND i.hold_until - anchorhold.now() >= make_interval(secs => %(min_left_s)s)", ""),
            ("AND a.state = 'claimed'", ""),
            where="eased AS (",
        ),
        ("loud: a process raised TypeError", "I9", "I6"),
    ),
    Bug(
        "the deadline does not end with the hold",
        exchanged(holds, "recheck", _no_deadline),
        ("I4",),
        "R4 H11",
        first_seed=52,
    ),
    Bug(
        "the key depends on the kind of attempt",
        exchanged(charge, "_request", _key_per_kind),
        ("I1: one number",),
        "the first route",
        first_seed=52,
    ),
    Bug(
        "the counter stays where it is",
        without(("charge_seq = i.charge_seq + %(moves_seq)s::int", "charge_seq = i.charge_seq")),
        ("loud: a process raised UniqueViolation",),
    ),
    Bug(
        "a cleared unknown stays unknown",
        without(("THEN e.found_status", "THEN i.payment_status")),
        ("I5",),
        "P5",
    ),
    Bug(
        "a processing charge is cleared and followed by nobody",
        without(
            ("followed_intent_id = CASE WHEN %(followed_intent)s::text IS NOT NULL",
             "followed_intent_id = CASE WHEN false"),
        ),
        ("I5", "I2", "loud"),
        "H9",
    ),
    Bug(
        "a sweep cancels the payable intent of an open invoice",
        row(sweep, "SWEEP", "S8", act=sweep.Act.CANCEL),
        ("I7", "I5"),
    ),
    Bug(
        "an invoice is closed although its cancel had no answer",
        row(closing, "CLOSING", "C14", step=closing.Step.WRITE),
        ("I3", "I2", "I1"),
        "P11",
        first_seed=953,
    ),
    Bug(
        "an invoice is closed although its customer was paying it",
        row(closing, "CLOSING", "C3", step=closing.Step.WRITE),
        ("I2", "I1", "I3"),
        "P4",
        first_seed=569,
    ),
    Bug(
        "a refused read counts as nothing",
        row(sweep, "SWEEP", "S15", act=sweep.Act.SUPERSEDE),
        ("I6: an attempt ended by a check that Stripe told nothing",),
        "H6",
        mode=Mode.DIRECT,
        first_seed=34,
    ),
    Bug(
        "no answer counts as nothing",
        row(sweep, "SWEEP", "S14", act=sweep.Act.SUPERSEDE),
        ("I6: an attempt ended by a check that Stripe told nothing",),
        "H1",
        first_seed=66,
    ),
    Bug(
        "an outcome is saved on the caller's task",
        exchanged(Shield, "save", _unshielded),
        ("I2: a success was heard",),
        "R12",
        first_seed=516,
    ),
    Bug(
        "the fence is left out and nothing is waited for",
        row(sweep, "SWEEP", "S10", act=sweep.Act.PRESUME),
        ("I1", "I6"),
        "H1 R15",
        mode=Mode.DIRECT,
        first_seed=346,
    ),
    Bug(
        "a fence's probe can take money",
        exchanged(fence, "probe_params", _the_charge_itself),
        ("I9", "I1", "I6"),
        "H14",
        mode=Mode.DIRECT,
        first_seed=64,
    ),
    Bug(
        "a presumed charge is never looked for again",
        exchanged(charge, "relist", _not_looked_for),
        ("I1",),
        "A1 H8",
        mode=Mode.ADR,
        first_seed=1123,
    ),
    Bug(
        "a page hands its secret out beside a hold",
        both(
            without(("AND i.hold_until IS NULL", ""), where="page.opened"),
            without(
                ("(i.hold_until IS NULL OR", "(true OR"),
                where="'intent.prepared'",
            ),
        ),
        ("I1", "I3", "I9", "loud"),
        "H4 H5",
        mode=Mode.DIRECT,
        first_seed=217,
    ),
    Bug(
        "a direct charge is sent again under a new number when its answer was lost",
        row(outcome, "OUTCOME", "A18", meaning=Meaning.NOT_SENT),
        ("I6", "I1"),
        "H3",
        mode=Mode.DIRECT,
    ),
    Bug(
        "a webhook clears the hold",
        without(
            ("WHEN i.hold_until = %(hold_until)s", "WHEN true OR i.hold_until = %(hold_until)s"),
            where="anchorhold.payment\n",
        ),
        ("I6", "loud"),
        "H7",
        mode=Mode.DIRECT,
        first_seed=57,
    ),
    Bug(
        "a charge is sent once more when its answer was lost",
        exchanged(StripeProvider, "confirm_intent", _resent),
        ("I9: an attempt was sent twice",),
        "H3",
    ),
    Bug(
        "a late success is watched by nobody",
        both(
            without(("watched_since = CASE WHEN %(state)s = 'superseded'",
                     "watched_since = CASE WHEN false")),
            row(watching, "WATCH", "W1", act=watching.Watch.WAIT),
        ),
        ("I2",),
        "P14 I1w",
        first_seed=1504,
    ),
    Bug(
        "a failed debit is followed for ever",
        row(following, "FOLLOW", "F4", act=following.Follow.WAIT),
        ("I5",),
        "P10",
    ),
    Bug(
        "a followed debit that paid is not settled",
        row(following, "FOLLOW", "F1", act=following.Follow.END),
        ("I2",),
        first_seed=151,
    ),
)  # fmt: skip
"""Every one has to be found."""

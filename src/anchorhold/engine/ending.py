"""Taking the hold of an invoice and cancelling its intent, as everything that closes one begins.

Whoever runs this may die between any two lines: the hold stays, and the sweep retrieves the intent
and ends the attempt (protocol sections 5 and 6).
"""

from datetime import UTC, datetime

from anchorhold.domain.access import Access, Action, access
from anchorhold.domain.answer import (
    Doubt,
    IntentStatus,
    NothingSent,
    NotSent,
    Refused,
    Shown,
    Unclear,
    intent_in,
)
from anchorhold.domain.attempt import AttemptKind, Cause
from anchorhold.domain.closing import Answer, Held, Row, Step, Without, read
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import ANY, OPEN, InvoiceStatus
from anchorhold.domain.next_check import next_check_at
from anchorhold.domain.payment import Source, Success
from anchorhold.domain.refusals import NOTHING_SENT, Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import accounts
from anchorhold.engine.deps import Connected, Deps
from anchorhold.engine.relist import relist
from anchorhold.store import checks, closes, invoices, payments
from anchorhold.store.closes import Release
from anchorhold.store.invoices import Standing

PAUSE_S = 60.0
"""After a close that had to be released no automatic act comes sooner."""


async def standing(deps: Deps, scope: Scope, invoice_id: InvoiceId) -> Standing:
    """Where the invoice stands now. Raises Refusal: invoice_not_found."""
    found = await invoices.standing(deps.db, scope, invoice_id)
    if found is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=invoice_id)
    return found


def require(deps: Deps, invoice_id: InvoiceId, action: Action, now: Standing) -> Access:
    """The invoice is open and its hold allows this act, and in which way (ACCESS).

    Raises Refusal: invoice_not_open, payment_in_flight.
    """
    if now.status is not InvoiceStatus.OPEN:
        raise Refusal(Code.INVOICE_NOT_OPEN, invoice=invoice_id, status=now.status)
    allowed = access(action, now.hold)[1]
    if allowed in {Access.ALLOWED, Access.ALLOWED_KEEPING_HOLD}:
        return allowed
    raise in_flight(deps, invoice_id, now)


def require_whole(scope: Scope, now: Standing) -> None:
    """No recovery is due before anything is claimed (section 11). Raises Refusal: recovery_due."""
    if now.recovery_due:
        reason = "its identity changed since its rows were known to be whole"
        raise Refusal(Code.RECOVERY_DUE, account=scope.account_id, reason=reason)


def in_flight(deps: Deps, invoice_id: InvoiceId, now: Standing) -> Refusal:
    """The refusal `payment_in_flight` with the hold's facts and the next check, computed."""
    return Refusal(
        Code.PAYMENT_IN_FLIGHT,
        invoice=invoice_id,
        next_check_at=next_check(deps, now),
        hold=now.hold,
        hold_until=now.hold_until,
    )


def next_check(deps: Deps, now: Standing) -> datetime:
    """When Stripe is asked next about what is under way; computed, never a fixed hour."""
    return next_check_at(
        deps.timing,
        now=now.now,
        hold_until=now.hold_until,
        asked_at=now.provider_synced_at,
        followed_at=now.followed_at,
        directly=now.held_directly,
    )


async def take(
    deps: Deps, scope: Scope, invoice_id: InvoiceId, kind: AttemptKind, action: Action
) -> tuple[Held, str]:
    """The invoice is held and nothing at Stripe can pay it; with the id of the row that says so.

    Raises Refusal: invoice_not_found, invoice_not_open, payment_in_flight; paid_meanwhile (it is
    settled); provider_unavailable (whether the hold is kept is said), provider_refused,
    stripe_account_changed, account_flagged (released, with a notice).
    """
    connected = await deps.providers.of(scope)
    require(deps, invoice_id, action, await standing(deps, scope, invoice_id))
    await relist(deps, connected, scope, invoice_id)
    held = await closes.claim(deps.db, scope, deps.timing, invoice_id, kind, actor=deps.actor)
    if held is None:
        now = await standing(deps, scope, invoice_id)
        require(deps, invoice_id, action, now)
        require_whole(scope, now)
        raise Refusal(Code.CHANGED_MEANWHILE, invoice=invoice_id)
    return held, await _cancel(deps, connected, held)


async def _cancel(deps: Deps, connected: Connected | None, held: Held) -> str:
    answer = await _answer(deps, connected, held)
    row = read(answer)
    match row.step:
        case Step.WRITE:
            return row.id
        case Step.SETTLE:
            raise await _settle(deps, held, row, answer)
        case Step.FOLLOW:
            raise await _follow(deps, held, row, answer)
        case Step.KEEP:
            raise await _keep(deps, held, row, answer)
        case Step.RELEASE:
            raise await _release(deps, held, row, answer)
        case Step.FLAG:
            raise await _flag(deps, connected, held, row, answer)
        case Step.REFUSE:
            raise await _refuse(deps, held, row, answer)


async def _answer(deps: Deps, connected: Connected | None, held: Held) -> Answer:
    """The cancel is sent once; a success that was only named is looked up (refunds, S2)."""
    if held.intent_id is None:
        return Without.NO_INTENT
    if connected is None:
        return NothingSent(NotSent.CREDENTIALS_UNREADABLE)
    if held.intent_account != connected.stripe_account:
        return Without.ANOTHER_ACCOUNT
    provider = connected.provider
    deadline = provider.deadline(deps.timing.deadline_auto_seconds)
    answer = await provider.cancel_intent(held.intent_id, deadline)
    shown = intent_in(answer)
    if shown is None or shown.status is not IntentStatus.SUCCEEDED or shown.latest_charge:
        return answer
    seen = await provider.retrieve_intent(held.intent_id, deadline)
    return seen if isinstance(seen, Shown) else Unclear(Doubt.UNREADABLE_ANSWER, "half shown")


async def _settle(deps: Deps, held: Held, row: Row, answer: Answer) -> Refusal:
    """The customer was first: his payment is recorded, then the hold ends."""
    token, intent = held.token, None if isinstance(answer, Without) else intent_in(answer)
    if intent is None:
        raise AssertionError("a row that settles shows the intent")
    await payments.settle(
        deps.db,
        token.scope,
        token.invoice_id,
        Success.of(intent, None),
        Source.CLOSE,
        actor=deps.actor,
        rule=row.id,
    )
    ended = Release(row.id, Cause.INTENT_SUCCEEDED)
    await closes.release(deps.db, token, ended, statuses=ANY, actor=deps.actor)
    return Refusal(Code.PAID_MEANWHILE, invoice=token.invoice_id, intent=intent.id)


async def _follow(deps: Deps, held: Held, row: Row, _answer: Answer) -> Refusal:
    followed = Release(row.id, Cause.REFUSED, follows=held.intent_id)
    await closes.release(deps.db, held.token, followed, statuses=OPEN, actor=deps.actor)
    now = await standing(deps, held.token.scope, held.token.invoice_id)
    return in_flight(deps, held.token.invoice_id, now)


async def _keep(deps: Deps, held: Held, row: Row, answer: Answer) -> Refusal:
    """Nobody can tell what became of the cancel: nothing is closed, the sweep asks."""
    await checks.keep(
        deps.db, held.token, rule=row.id, error=said(answer), actor=deps.actor, follows=False
    )
    until = held.token.hold_until
    return Refusal(
        Code.PROVIDER_UNAVAILABLE,
        subject=held.token.invoice_id,
        reason=f"{row.because} ({said(answer)})",
        sent=f"Nothing was closed; the hold is kept, and Stripe is asked at {_shown(until)}",
        next_check_at=until,
    )


def _shown(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


async def _release(deps: Deps, held: Held, row: Row, answer: Answer) -> Refusal:
    cause = Cause(answer.cause.value) if isinstance(answer, NothingSent) else Cause.RATE_LIMITED
    await _let_go(deps, held, Release(row.id, cause, pause_s=PAUSE_S))
    return Refusal(
        Code.PROVIDER_UNAVAILABLE,
        subject=held.token.invoice_id,
        reason=said(answer),
        sent=f"{NOTHING_SENT}, and the hold is released",
    )


async def _flag(
    deps: Deps, connected: Connected | None, held: Held, row: Row, answer: Answer
) -> Refusal:
    scope = held.token.scope
    if connected is not None:
        status = answer.status if isinstance(answer, Refused) else None
        await accounts.flag(deps, connected, scope, said(answer), status=status)
    await _let_go(deps, held, _noticed(row, Cause.ACCOUNT_REFUSED, answer))
    return Refusal(Code.ACCOUNT_FLAGGED, account=scope.account_id)


async def _refuse(deps: Deps, held: Held, row: Row, answer: Answer) -> Refusal:
    await _let_go(deps, held, _noticed(row, Cause.REFUSED, answer))
    if answer is Without.ANOTHER_ACCOUNT:
        return Refusal(Code.STRIPE_ACCOUNT_CHANGED, invoice=held.token.invoice_id)
    return Refusal(
        Code.PROVIDER_REFUSED,
        subject=held.token.invoice_id,
        reason=said(answer),
        sent="The PaymentIntent was not cancelled, nothing was closed and the hold is released",
    )


def _noticed(row: Row, cause: Cause, answer: Answer) -> Release:
    evidence: dict[str, object] = {"rule": row.id, "because": row.because, "said": said(answer)}
    return Release(row.id, cause, evidence=evidence, pause_s=PAUSE_S)


async def _let_go(deps: Deps, held: Held, what: Release) -> None:
    await closes.release(deps.db, held.token, what, statuses=OPEN, actor=deps.actor)


def said(answer: Answer) -> str:
    """The answer in words."""
    if isinstance(answer, Without):
        return answer.replace("_", " ")
    return f"it is {answer.value.status}" if isinstance(answer, Shown) else said_of(answer)


def said_of(answer: Refused | NothingSent | Unclear) -> str:
    """A refusal, or why there is no answer, in words."""
    if isinstance(answer, Refused):
        return f"{answer.status} {answer.message or answer.label}"
    return answer.detail or answer.cause.value.replace("_", " ")

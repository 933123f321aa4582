"""TABLE: which writes can meet at one invoice, by the state in which they find it."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from anchorhold.domain.attempt import AttemptState, Cause
from anchorhold.domain.hold import Token
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.intent import IntentState
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.outcome import ENDS, End, Meaning
from anchorhold.domain.payment import Source
from anchorhold.domain.scope import Scope
from anchorhold.store import (
    accounts,
    attempts,
    checks,
    closes,
    customers,
    follows,
    holds,
    intents,
    pages,
    payments,
    watches,
)
from anchorhold.store.db import Db
from tests.store import closing
from tests.store.scene import (
    ACTOR,
    DECLINE,
    NO_TRACE,
    UNCLEAR,
    Scene,
    claim_one,
    name_it,
    owner_ends,
    recheck,
    success,
    sweep_ends,
    watched_of,
)

Run = Callable[[Db, Scene, Any], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Stage:
    """A state of an invoice, and all that can be written to it by whom, at any moment."""

    name: str
    arrange: Callable[[Scene, int], Coroutine[Any, Any, list[Any]]]
    acts: dict[str, Run]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every order of two acts, one after itself included."""
        return [(first, second) for first in self.acts for second in self.acts]


def invoice_of(state: Any) -> InvoiceId:
    """Which invoice a stage's state is about."""
    if isinstance(state, str):
        return InvoiceId(state)
    if hasattr(state, "token"):
        return state.token.invoice_id
    return getattr(state, "invoice_id", None) or InvoiceId(f"inv_{state.customer_id[4:]}")


def _token(state: Any) -> Token:
    token: Token = state.token
    return token


async def _claim(db: Db, scene: Scene, state: Any) -> Any:
    return await claim_one(db, scene, invoice_of(state))


async def _claim_due(db: Db, scene: Scene, _: Any) -> Any:
    return await holds.claim_due(db, scene.scope, scene.timing, limit=5, actor=ACTOR)


async def _page_pays(db: Db, scene: Scene, state: Any) -> Any:
    """The customer paid by himself; whoever sees it holds nothing."""
    invoice_id = invoice_of(state)
    return await payments.settle(
        db, scene.scope, invoice_id, success(invoice_id), Source.FOLLOWER, actor=ACTOR
    )


async def _page_pays_less(db: Db, scene: Scene, state: Any) -> Any:
    invoice_id = invoice_of(state)
    less = success(invoice_id, amount=100)
    return await payments.settle(db, scene.scope, invoice_id, less, Source.FOLLOWER, actor=ACTOR)


async def _owner_settles(db: Db, scene: Scene, state: Any) -> Any:
    token = _token(state)
    own = success(token.invoice_id, token=token)
    return await payments.settle(
        db, scene.scope, token.invoice_id, own, Source.ANSWER, actor=ACTOR, clears=token
    )


async def _sweep_settles(db: Db, scene: Scene, state: Any) -> Any:
    token = _token(state)
    found = success(token.invoice_id)
    return await payments.settle(
        db, scene.scope, token.invoice_id, found, Source.SWEEP, actor=ACTOR, clears=token
    )


def _owner(end: End) -> Run:
    return lambda db, scene, state: owner_ends(db, _token(state), end)


def _sweep(end: End) -> Run:
    return lambda db, scene, state: sweep_ends(db, _token(state), end, AttemptState.SENDING)


RELEASE = replace(ENDS[Meaning.NOT_SENT], rule="R1", cause=Cause.RECHECK_REFUSED)


def _followed(state: Any) -> End:
    return replace(ENDS[Meaning.FOLLOW], rule="S3", followed_intent=state.intent_id)


async def _sweep_follows(db: Db, scene: Scene, state: Any) -> Any:
    return await sweep_ends(db, _token(state), _followed(state), AttemptState.SENDING)


async def _owner_follows(db: Db, scene: Scene, state: Any) -> Any:
    return await owner_ends(db, _token(state), _followed(state))


async def _sweep_clears(db: Db, scene: Scene, state: Any) -> Any:
    return await holds.end(
        db,
        _token(state),
        replace(NO_TRACE, rule="S9", fails_twice=False),
        states=frozenset({AttemptState.SENDING}),
        statuses=frozenset({InvoiceStatus.UNCOLLECTIBLE}),
        actor=ACTOR,
        source="sweep",
    )


async def _keep(db: Db, scene: Scene, state: Any) -> Any:
    return await checks.keep(db, _token(state), rule="S14", error="503", actor=ACTOR, follows=False)


async def _late_decline(db: Db, scene: Scene, state: Any) -> Any:
    return await attempts.late_decline(db, _token(state), replace(DECLINE, rule="A7"), actor=ACTOR)


async def _take_check(db: Db, scene: Scene, _: Any) -> Any:
    started = await checks.now(db)
    return await checks.take(db, scene.scope, scene.timing, run_started=started, limit=5)


async def _refuse_intent(db: Db, scene: Scene, state: Any) -> Any:
    return await intents.refuse(
        db, scene.scope, invoice_of(state), 1, code="amount_too_small", message="No.", actor=ACTOR
    )


async def _refuse_customer(db: Db, scene: Scene, state: Any) -> Any:
    return await customers.refuse(
        db, scene.scope, state, code="card_declined", message="No.", actor=ACTOR
    )


async def _refuse_account(db: Db, scene: Scene, _: Any) -> Any:
    return await accounts.refuse(db, scene.scope, key_fingerprint="fingerprint", reason="401")


async def _use_up(db: Db, scene: Scene, state: Any) -> Any:
    return await intents.use_up(db, scene.scope, invoice_of(state), 1, reason="500", actor=ACTOR)


async def _begin(db: Db, scene: Scene, state: Any) -> Any:
    return await intents.begin(db, state, key=f"next-{state.invoice_id}", params={"amount": 1})


async def _ends_following(db: Db, scene: Scene, state: Any) -> Any:
    return await follows.end(
        db, scene.scope, state, decline=DECLINE.decline, canceled=False, rule="F4", actor=ACTOR
    )


async def _ends_following_canceled(db: Db, scene: Scene, state: Any) -> Any:
    return await follows.end(
        db, scene.scope, state, decline=None, canceled=True, rule="F3", actor=ACTOR
    )


async def _watch_follows(db: Db, scene: Scene, state: Any) -> Any:
    return await watches.follow(db, scene.scope, watched_of(state), rule="W2", actor=ACTOR)


async def _watch_ends(db: Db, scene: Scene, state: Any) -> Any:
    return await watches.end(db, scene.scope, watched_of(state), rule="W3", actor=ACTOR)


def closing_act(write: Callable[[Db, Scope, Scene, Any], Coroutine[Any, Any, Any]]) -> Run:
    """The one who closes writes this."""
    return lambda db, scene, state: write(db, scene.scope, scene, [state])


async def _owner_gone(db: Db, scene: Scene, state: Any) -> Any:
    """The sweep ends a close whose owner died, after Stripe showed its intent cancelled."""
    gone = replace(
        ENDS[Meaning.NOT_SENT],
        rule="S8",
        cause=Cause.OWNER_GONE,
        intent=IntentState.CANCELED,
        pause_s=0,
    )
    return await sweep_ends(db, _token(state), gone, AttemptState.CLAIMED)


async def _claim_to_close(db: Db, scene: Scene, state: Any) -> Any:
    return await closing.claim_close(db, scene.scope, scene, [invoice_of(state)])


async def _page_opened(db: Db, scene: Scene, state: Any) -> Any:
    return await pages.open_page(db, scene.scope, invoice_of(state), actor=ACTOR)


async def _credit_given(db: Db, scene: Scene, state: Any) -> Any:
    return await closing.give(db, scene.scope, scene, [invoice_of(state)])


async def _write_off(db: Db, scene: Scene, state: Any) -> Any:
    return await closes.write_off_under_way(
        db, scene.scope, invoice_of(state), reason="bankrupt", actor=ACTOR
    )


# fmt: off
STAGES = (
    Stage("due", lambda scene, count: scene.due(count), {
        "claim": _claim,
        "claim_due": _claim_due,
        "page pays": _page_pays,
        "page pays less": _page_pays_less,
        "account refused": _refuse_account,
        "claim to close": _claim_to_close,
        "page opened": _page_opened,
        "credit given": _credit_given,
    }),
    Stage("closing", lambda scene, count: scene.closing(count), {
        "closed": closing_act(closing.finish),
        "amended": closing_act(closing.amend),
        "let go": closing_act(closing.release),
        "owner gone": _owner_gone,
        "page pays": _page_pays,
        "page pays less": _page_pays_less,
        "page opened": _page_opened,
        "claim": _claim,
        "claim to close": _claim_to_close,
    }),
    Stage("without a method", lambda scene, count: scene.customers(count), {
        "method set": lambda db, scene, state: customers.set_payment_method(
            db, scene.scope, state, "pm_new"),
        "customer refused": _refuse_customer,
        "key spent": lambda db, scene, state: customers.spend_key(db, scene.scope, state),
        "taken": lambda db, scene, state: customers.take_unready(db, scene.scope, limit=5),
        "claim": _claim,
        "page pays": _page_pays,
    }),
    Stage("preparing", lambda scene, count: scene.preparing(count), {
        "named": lambda db, scene, state: name_it(db, scene.scope, state),
        "used up": _use_up,
        "refused": _refuse_intent,
        "begun again": _begin,
        "taken": lambda db, scene, state: intents.take_unprepared(db, scene.scope, limit=5),
        "claim": _claim,
        "claim_due": _claim_due,
    }),
    Stage("claimed", lambda scene, count: scene.claimed(count), {
        "re-check": recheck,
        "released": _owner(RELEASE),
        "page pays": _page_pays,
        "page pays less": _page_pays_less,
        "claim": _claim,
        "account refused": _refuse_account,
    }),
    Stage("sending", lambda scene, count: scene.sending(count), {
        "owner settles": _owner_settles,
        "owner declines": _owner(DECLINE),
        "owner follows": _owner_follows,
        "owner unclear": _owner(UNCLEAR),
        "page pays": _page_pays,
        "page pays less": _page_pays_less,
        "claim": _claim,
    }),
    Stage("stale", lambda scene, count: scene.stale(count), {
        "owner settles": _owner_settles,
        "owner declines": _owner(DECLINE),
        "owner unclear": _owner(UNCLEAR),
        "sweep takes": _take_check,
        "sweep settles": _sweep_settles,
        "sweep declines": _sweep(DECLINE),
        "sweep follows": _sweep_follows,
        "sweep supersedes": _sweep(NO_TRACE),
        "sweep keeps": _keep,
        "page pays": _page_pays,
        "page pays less": _page_pays_less,
        "re-check": recheck,
        "claim": _claim,
        "written off": _write_off,
    }),
    Stage("written off", lambda scene, count: scene.written_off(count), {
        "owner settles": _owner_settles,
        "owner declines": _owner(DECLINE),
        "late decline": _late_decline,
        "sweep settles": _sweep_settles,
        "sweep clears": _sweep_clears,
        "sweep keeps": _keep,
        "page pays": _page_pays,
    }),
    Stage("followed", lambda scene, count: scene.followed(count), {
        "taken": lambda db, scene, state: follows.take(db, scene.scope, limit=5),
        "following declined": _ends_following,
        "following canceled": _ends_following_canceled,
        "page pays": _page_pays,
        "page pays less": _page_pays_less,
        "claim": _claim,
        "written off": _write_off,
        "claim to close": _claim_to_close,
    }),
    Stage("superseded", lambda scene, count: scene.superseded(count), {
        "watch follows": _watch_follows,
        "watch ends": _watch_ends,
        "watched": lambda db, scene, state: watches.take(db, scene.scope, limit=5),
        "late decline": _late_decline,
        "page pays": _page_pays,
        "page pays less": _page_pays_less,
        "claim": _claim,
        "claim_due": _claim_due,
    }),
)
"""Every state in which two of the store's writes can meet."""
# fmt: on

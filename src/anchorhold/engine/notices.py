"""Notices as tasks: a person says how one was dealt with, or gives the money back (section 8)."""

from dataclasses import dataclass

from anchorhold.domain.ids import NoticeId
from anchorhold.domain.notices import Ends, about
from anchorhold.domain.refund import Refundable, RefundState
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.engine.refunds import Refunded, refund
from anchorhold.store import notices, refunds, views_notices
from anchorhold.store.views_notices import NoticeView


@dataclass(frozen=True, slots=True)
class Resolved:
    """What resolving came to. Not resolved: the refund's answer is not known yet."""

    notice_id: NoticeId
    resolved: bool
    refunded: Refunded | None = None


async def resolve(deps: Deps, scope: Scope, notice_id: str, resolution: str) -> Resolved:
    """The notice is resolved with these words; of two at once one wins.

    Raises Refusal: notice_not_found, notice_resolved, resolution_missing.
    """
    notice = await _open(deps, scope, notice_id)
    if not resolution.strip():
        raise Refusal(Code.RESOLUTION_MISSING, notice=notice.id)
    won = await notices.resolve(
        deps.db, scope, notice.id, resolution=resolution.strip(), actor=deps.actor
    )
    if won is None:
        await _open(deps, scope, notice_id)
    return Resolved(notice.id, won is not None)


async def give_back(deps: Deps, scope: Scope, notice_id: str, resolution: str = "") -> Resolved:
    """What the notice's payment took too much is given back, and the notice is resolved by it.

    One act that can be repeated: what was given back before is not given back again. Raises
    Refusal: notice_not_found, notice_resolved, notice_has_no_refund, and those of a refund.
    """
    notice = await _open(deps, scope, notice_id)
    payment = await refundable(deps, scope, notice)
    done = None
    if payment.too_much:
        words = resolution.strip() or about(notice.code).happened
        done = await refund(deps, scope, payment.payment_id, payment.too_much, words)
        if done.state is RefundState.REQUESTED:
            return Resolved(notice.id, resolved=False, refunded=done)
    said = resolution.strip() or "refunded"
    # A full refund has resolved it already, in the statement that recorded it.
    await notices.resolve(deps.db, scope, notice.id, resolution=said, actor=deps.actor)
    return Resolved(notice.id, resolved=True, refunded=done)


async def refundable(deps: Deps, scope: Scope, notice: NoticeView) -> Refundable:
    """The payment that the notice is about. Raises Refusal: notice_has_no_refund."""
    payment = await refunds.by_intent(deps.db, scope, notice.subject)
    settles = Ends.REFUND in about(notice.code).ends
    if payment is None or not settles or (payment.left and not payment.too_much):
        raise Refusal(Code.NOTICE_HAS_NO_REFUND, notice=notice.id)
    return payment


async def _open(deps: Deps, scope: Scope, notice_id: str) -> NoticeView:
    notice = await views_notices.one(deps.db, scope, notice_id)
    if notice is None:
        raise Refusal(Code.NOTICE_NOT_FOUND, id=notice_id)
    if notice.resolved_at is not None:
        raise Refusal(Code.NOTICE_RESOLVED, notice=notice.id, by=notice.resolved_by)
    return notice

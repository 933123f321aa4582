"""What charges, ends or changes one invoice: `collect`, `void`, `write_off`, and so on."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from anchorhold import objects
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.attempt import CHARGES, RUNNING, AttemptState
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.invoice import InvoiceStatus
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine import amend as amending
from anchorhold.engine import close as closing
from anchorhold.engine.close import Closed
from anchorhold.engine.collect import collect
from anchorhold.objects import Object
from anchorhold.store import views_attempts, views_invoices
from anchorhold.store.views_attempts import AttemptView
from anchorhold.store.views_invoices import InvoiceView
from anchorhold.web.api.answers import error_of
from anchorhold.web.api.calling import Api, Caller
from anchorhold.web.api.document import answers
from anchorhold.web.api.once import Act, Answer, once
from anchorhold.web.api.queries import Strict

Name = Annotated[str, Path(max_length=200, description="Its id, or your own reference.")]
RECENT: Final = 20


class ReasonBody(Strict):
    """Why, for the invoice's story."""

    reason: str = Field(min_length=1, max_length=500, pattern=r"\S", examples=["made twice"])


class ReferenceBody(Strict):
    """How it was paid, for people."""

    reference: str = Field(min_length=1, max_length=500, pattern=r"\S", examples=["bank transfer"])


class AmendBody(ReasonBody):
    """What is due from now on, in all."""

    amount: int = Field(strict=True, ge=0, le=10**14, description="Minor units.")


NOT_SENT: Final = "not_sent"
OUTCOMES: Final[Mapping[AttemptState, str]] = {
    AttemptState.SUCCEEDED: "paid",
    AttemptState.PROCESSING: "processing",
    AttemptState.FAILED: "declined",
    AttemptState.NOT_SENT: NOT_SENT,
    AttemptState.SUPERSEDED: NOT_SENT,
    AttemptState.FENCED: NOT_SENT,
    AttemptState.PRESUMED_NONE: NOT_SENT,
}
"""What came of a charge, by its attempt; everything else is being confirmed with Stripe."""
CONFIRMING: Final = "confirming"

Closing = Callable[[Act, InvoiceId], Awaitable[Closed]]


def add(api: Api, routes: APIRouter, writes: Any) -> None:
    """The acts on one invoice, beside its other routes."""

    @routes.post("/invoices/{invoice}/collect", responses=answers("invoice", posts=True))
    async def collect_invoice(request: Request, caller: writes, invoice: Name) -> Response:
        """Charge one invoice now, once; `collect` of the answer says what came of it.

        `paid`, `processing`, `confirming` (Stripe's answer is missing and will be asked for: do
        not collect again) or `not_sent`. A decline is 402.
        """
        found = await _found(api, caller, invoice)
        return await once(
            api,
            caller,
            request,
            None,
            lambda act: _collect(api, request, act, found),
            moves_money=True,
        )

    _add_endings(api, routes, writes)


def _add_endings(api: Api, routes: APIRouter, writes: Any) -> None:
    async def end(request: Request, caller: Caller, name: str, body: Strict, how: _How) -> Response:
        found = await _found(api, caller, name)
        return await once(api, caller, request, body, lambda act: _end(api, act, found.id, how))

    @routes.post("/invoices/{invoice}/void", responses=answers("invoice", posts=True))
    async def void_invoice(
        request: Request, caller: writes, invoice: Name, body: ReasonBody
    ) -> Response:
        """Make it void: it was never owed. Its PaymentIntent is cancelled at Stripe first."""
        how = _How(
            "invoice.void",
            lambda act, id_: closing.void(act.deps, act.scope, id_, reason=body.reason),
        )
        return await end(request, caller, invoice, body, how)

    @routes.post("/invoices/{invoice}/write_off", responses=answers("invoice", posts=True))
    async def write_off_invoice(
        request: Request, caller: writes, invoice: Name, body: ReasonBody
    ) -> Response:
        """Give it up; money that arrives all the same is recorded."""
        how = _How(
            "invoice.write_off",
            lambda act, id_: closing.write_off(act.deps, act.scope, id_, reason=body.reason),
        )
        return await end(request, caller, invoice, body, how)

    @routes.post("/invoices/{invoice}/paid_elsewhere", responses=answers("invoice", posts=True))
    async def pay_invoice_elsewhere(
        request: Request, caller: writes, invoice: Name, body: ReferenceBody
    ) -> Response:
        """Record that all that is due was paid outside of Stripe."""
        how = _How(
            "invoice.paid_elsewhere",
            lambda act, id_: closing.paid_elsewhere(
                act.deps, act.scope, id_, reference=body.reference
            ),
        )
        return await end(request, caller, invoice, body, how)

    @routes.post("/invoices/{invoice}/amend", responses=answers("invoice", posts=True))
    async def amend_invoice(
        request: Request, caller: writes, invoice: Name, body: AmendBody
    ) -> Response:
        """Change what is due: its PaymentIntent is cancelled and the next made."""
        how = _How(
            "invoice.amended",
            lambda act, id_: amending.amend(
                act.deps, act.scope, id_, amount_due=body.amount, reason=body.reason
            ),
        )
        return await end(request, caller, invoice, body, how)


class _How:
    """One way to end or change an invoice, and the word that its journal has for it."""

    __slots__ = ("run", "word")

    def __init__(self, word: str, run: Closing) -> None:
        self.word = word
        self.run = run


async def _found(api: Api, caller: Caller, name: str) -> InvoiceView:
    found = await views_invoices.one(api.db, caller.scope, name.replace("\0", ""))
    if found is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=name[:60])
    return found


async def _end(api: Api, act: Act, invoice_id: InvoiceId, how: _How) -> Answer:
    """Done now, or found done by this request before."""
    if not any(entry.what == how.word for entry in await act.done(invoice_id)):
        await how.run(act, invoice_id)
    return Answer(await _shown(api, act, invoice_id))


async def _collect(api: Api, request: Request, act: Act, before: InvoiceView) -> Answer:
    """Charged now, or what came of the attempt that this request made before."""
    if not await _tried(act, before.id):
        await collect(act.deps, act.scope, before.id)
    shown = await _shown(api, act, before.id)
    paid = shown["status"] == InvoiceStatus.PAID.value
    outcome, reason = await _outcome(act, before.id, paid=paid)
    if outcome != "declined":
        return Answer({**shown, "collect": outcome})
    refusal = Refusal(ApiCode.PAYMENT_DECLINED, invoice=before.id, reason=reason)
    more: Object = {"last_error": shown["last_error"], "hold": shown["hold"]}
    return Answer({"error": error_of(request, refusal, more)}, refusal.code.surface.status)


async def _tried(act: Act, invoice_id: InvoiceId) -> bool:
    """This request's own attempt is its answer; one that charged nothing is made again.

    Not one that a direct charge left at Stripe without a trace: that is for whoever collects anew
    to say (R10). Refuses while nobody can tell: IDEMPOTENCY_KEY_IN_USE.
    """
    own = await _own(act, invoice_id) if act.again else None
    if own is None:
        return False
    if own.state in RUNNING:
        raise Refusal(ApiCode.IDEMPOTENCY_KEY_IN_USE)
    again = own.sent_at is None or own.intent_id is not None
    return not (again and OUTCOMES.get(own.state) == NOT_SENT)


async def _own(act: Act, invoice_id: InvoiceId) -> AttemptView | None:
    """The newest attempt of this request: another's says nothing of it."""
    rows = await views_attempts.page(
        act.deps.db, act.scope, state=None, invoice_id=invoice_id, after=None, limit=RECENT
    )
    return next((row for row in rows if row.actor.endswith(act.request_id)), None)


async def _outcome(act: Act, invoice_id: InvoiceId, *, paid: bool) -> tuple[str, str]:
    own = await _own(act, invoice_id)
    if own is None or own.kind not in CHARGES:  # credit covered it, or it was to
        return "paid" if paid else CONFIRMING, ""
    decline = own.decline or {}
    reason = str(decline.get("message") or decline.get("code") or "no reason was given")
    return OUTCOMES.get(own.state, CONFIRMING), reason


async def _shown(api: Api, act: Act, invoice_id: InvoiceId) -> Object:
    found = await views_invoices.one(act.deps.db, act.scope, invoice_id)
    if found is None:
        raise RuntimeError("an invoice is never deleted")
    return objects.invoice(found, api.app.settings.timing)

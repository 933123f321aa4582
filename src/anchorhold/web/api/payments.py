"""`/v1/payments`, `/v1/refunds` and `/v1/attempts`: what was charged, came, and went back."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from anchorhold import objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.attempt import AttemptState
from anchorhold.domain.ids import REFUND, InvoiceId, RefundId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.refunds import refund
from anchorhold.store import views_attempts, views_payments, views_refunds
from anchorhold.store.views_payments import PaymentView
from anchorhold.store.views_refunds import RefundRowView
from anchorhold.web.api.answers import listed
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers, listing
from anchorhold.web.api.expanding import expanded
from anchorhold.web.api.invoices import the_invoice
from anchorhold.web.api.once import Act, Answer, once
from anchorhold.web.api.queries import Page, Read, Strict, page_of

Name = Annotated[str, Path(max_length=200, pattern="^[^\\x00]+$", description="Its id.")]


class OfInvoiceQuery(Page):
    """Which ones."""

    invoice: str | None = Field(default=None, max_length=200, description="Id or reference.")


class AttemptsQuery(OfInvoiceQuery):
    """Which attempts."""

    state: AttemptState | None = None


class RefundsQuery(Strict):
    """Which refunds: a payment has a handful of them."""

    payment: str = Field(max_length=200, pattern="^[^\\x00]+$")


class RefundBody(Strict):
    """What is given back."""

    payment: str = Field(max_length=200, pattern="^[^\\x00]+$", examples=["pay_…"])
    amount: int | None = Field(
        default=None, strict=True, ge=1, le=10**14, description="Minor units; all that is left."
    )
    reason: str = Field(min_length=1, max_length=500, pattern=r"\S", examples=["sent back"])


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter()
    _add_attempts(api, routes)
    _add_payments(api, routes)
    _add_refunds(api, routes)
    return routes


def _add_attempts(api: Api, routes: APIRouter) -> None:
    reads = Annotated[Caller, may(api, Noun.ATTEMPTS, Access.READ)]

    @routes.get("/attempts", tags=["attempts"], responses=listing("attempt"))
    async def list_attempts(
        request: Request, caller: reads, query: Annotated[AttemptsQuery, Query()]
    ) -> Any:
        """Attempts, newest first: each is one taking of an invoice's hold."""
        invoice = await _invoice(api, caller.scope, query)
        rows, more = await page_of(
            query,
            lambda after, limit: views_attempts.page(
                api.db, caller.scope, state=query.state, invoice_id=invoice, after=after,
                limit=limit,
            ),
        )  # fmt: skip
        shown = [objects.attempt(row) for row in rows]
        for each in shown:
            await expanded(api, caller.scope, each, query.expand, listed=True)
        return listed(request, shown, more=more)

    @routes.get("/attempts/{attempt}", tags=["attempts"], responses=answers("attempt"))
    async def retrieve_attempt(caller: reads, attempt: Name, query: Read) -> Any:
        """One attempt, and what became of it."""
        found = await views_attempts.one(api.db, caller.scope, attempt)
        if found is None:
            raise Refusal(Code.ATTEMPT_NOT_FOUND, id=attempt[:60])
        return await expanded(api, caller.scope, objects.attempt(found), query.expand)


def _add_payments(api: Api, routes: APIRouter) -> None:
    reads = Annotated[Caller, may(api, Noun.PAYMENTS, Access.READ)]

    @routes.get("/payments", tags=["payments"], responses=listing("payment"))
    async def list_payments(
        request: Request, caller: reads, query: Annotated[OfInvoiceQuery, Query()]
    ) -> Any:
        """Payments, newest first; each success at Stripe is recorded once."""
        invoice = await _invoice(api, caller.scope, query)
        rows, more = await page_of(
            query,
            lambda after, limit: views_payments.page(
                api.db, caller.scope, invoice_id=invoice, after=after, limit=limit
            ),
        )
        shown = [objects.payment(row) for row in rows]
        for each in shown:
            await expanded(api, caller.scope, each, query.expand, listed=True)
        return listed(request, shown, more=more)

    @routes.get("/payments/{payment}", tags=["payments"], responses=answers("payment"))
    async def retrieve_payment(caller: reads, payment: Name, query: Read) -> Any:
        """One payment, by its id or its PaymentIntent."""
        shown = objects.payment(await the_payment(api, caller.scope, payment))
        return await expanded(api, caller.scope, shown, query.expand)


def _add_refunds(api: Api, routes: APIRouter) -> None:
    reads = Annotated[Caller, may(api, Noun.REFUNDS, Access.READ)]
    writes = Annotated[Caller, may(api, Noun.REFUNDS, Access.WRITE)]

    @routes.get("/refunds", tags=["refunds"], responses=listing("refund"))
    async def list_refunds(
        request: Request, caller: reads, query: Annotated[RefundsQuery, Query()]
    ) -> Any:
        """All refunds of a payment, newest first."""
        payment = await the_payment(api, caller.scope, query.payment)
        rows = await views_refunds.of_payment(api.db, caller.scope, payment.id)
        return listed(request, [objects.refund(row) for row in rows], more=False)

    @routes.get("/refunds/{refund_id}", tags=["refunds"], responses=answers("refund"))
    async def retrieve_refund(caller: reads, refund_id: Name, query: Read) -> Any:
        """One refund, and how far it is."""
        found = await views_refunds.one(api.db, caller.scope, RefundId(refund_id))
        if found is None:
            raise Refusal(ApiCode.REFUND_NOT_FOUND, id=refund_id[:60])
        return await expanded(api, caller.scope, objects.refund(found), query.expand)

    @routes.post("/refunds", tags=["refunds"], responses=answers("refund", posts=True))
    async def create_refund(request: Request, caller: writes, body: RefundBody) -> Response:
        """Give a payment back, in part or all that is left of it.

        `requested` means that Stripe's answer is missing and will be asked for: do not ask again.
        """
        return await once(
            api, caller, request, body, lambda act: _refund(api, act, body), moves_money=True
        )


async def _invoice(api: Api, scope: Scope, query: OfInvoiceQuery) -> InvoiceId | None:
    return (await the_invoice(api, scope, query.invoice)).id if query.invoice else None


async def the_payment(api: Api, scope: Scope, name: str) -> PaymentView:
    """The payment with this id or PaymentIntent. Refuses: PAYMENT_NOT_FOUND."""
    found = await views_payments.one(api.db, scope, name)
    if found is None:
        raise Refusal(Code.PAYMENT_NOT_FOUND, id=name[:60])
    return found


async def _refund(api: Api, act: Act, body: RefundBody) -> Answer:
    """Asked for now, or found asked for by this request before: its id is the request's."""
    own = act.own_id(REFUND)
    found = await _own(act, own)
    if found is None:
        payment = await the_payment(api, act.scope, body.payment)
        await refund(act.deps, act.scope, payment.id, body.amount, body.reason, refund_id=own)
        found = await _own(act, own)
        if found is None:
            reason = "nothing is left of it"
            raise Refusal(Code.PAYMENT_NOT_REFUNDABLE, payment=payment.id, reason=reason)
    return Answer(objects.refund(found))


async def _own(act: Act, own: RefundId) -> RefundRowView | None:
    return await views_refunds.one(act.deps.db, act.scope, own)

"""`/v1/invoices`: taken in, read, collected, ended; and the attempts to charge them."""

import re
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from anchorhold import objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.currencies import currency
from anchorhold.domain.ids import CUSTOMER, INVOICE, InvoiceId
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.money import Money
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine import imports
from anchorhold.engine.ready import make_ready
from anchorhold.engine.repair import look_once
from anchorhold.objects import Object
from anchorhold.store import checks, views_customers, views_invoices
from anchorhold.store.invoices import NewInvoice
from anchorhold.store.views_invoices import InvoiceFilter, InvoiceView
from anchorhold.web.api import acts
from anchorhold.web.api.answers import listed
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers, listing
from anchorhold.web.api.expanding import expanded
from anchorhold.web.api.once import Act, Answer, once
from anchorhold.web.api.queries import Page, Read, Strict, page_of

TEXT: Final = r"^[^\x00-\x1f\x7f]+$"
METHOD: Final = r"^(pm|card|src)_[A-Za-z0-9_]+$"
EMAIL: Final = r"^[^@\s]+@[^@\s]+$"
Amount = Annotated[int, Field(strict=True, ge=0, le=10**14, description="Minor units.")]
Name = Annotated[str, Path(max_length=200, description="Its id, or your own reference.")]
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=TEXT)]


class NewInvoiceBody(Strict):
    """An invoice to collect. The same reference with the same facts again is the same invoice."""

    customer: Text = Field(description="Its id, or your own reference: a new one makes it.")
    amount: Amount = Field(examples=[14900])
    currency: str = Field(min_length=3, max_length=3, examples=["eur"])
    reference: Text | None = Field(
        default=None, description="Your own name of the invoice, unique; without it one is made."
    )
    due_at: datetime | None = Field(default=None, description="From when it is charged; now.")
    email: str | None = Field(default=None, max_length=200, pattern=EMAIL)
    payment_method: str | None = Field(
        default=None, max_length=200, pattern=METHOD, description="A payment method of Stripe's."
    )


class InvoicesQuery(Page):
    """Which invoices."""

    status: InvoiceStatus | None = None
    payment_status: PaymentStatus | None = None
    customer: str | None = Field(default=None, max_length=200)


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["invoices"])
    reads = Annotated[Caller, may(api, Noun.INVOICES, Access.READ)]
    writes = Annotated[Caller, may(api, Noun.INVOICES, Access.WRITE)]

    @routes.get("/invoices", responses=listing("invoice"))
    async def list_invoices(
        request: Request, caller: reads, query: Annotated[InvoicesQuery, Query()]
    ) -> Any:
        """Invoices, newest first."""
        which = await _filter(api, caller.scope, query)
        rows, more = await page_of(
            query,
            lambda after, limit: views_invoices.page(
                api.db, caller.scope, which, after=after, limit=limit
            ),
        )
        shown = [objects.invoice(row, api.app.settings.timing) for row in rows]
        for each in shown:
            await expanded(api, caller.scope, each, query.expand, listed=True)
        return listed(request, shown, more=more)

    @routes.post("/invoices", responses=answers("invoice", posts=True))
    async def create_invoice(request: Request, caller: writes, body: NewInvoiceBody) -> Response:
        """Take an invoice in: it is open, and charged from when it is due."""
        answer = await once(api, caller, request, body, lambda act: _create(api, act, body))
        await api.wake(caller.scope)
        return answer

    @routes.get("/invoices/{invoice}", responses=answers("invoice"))
    async def retrieve_invoice(caller: reads, invoice: Name, query: Read) -> Any:
        """One invoice. While something is under way Stripe is asked first, once a minute."""
        found = await the_invoice(api, caller.scope, invoice)
        if await look_once(api.app.deps, caller.scope, found.id) is not None:
            found = await the_invoice(api, caller.scope, invoice)
        shown = objects.invoice(found, api.app.settings.timing)
        return await expanded(api, caller.scope, shown, query.expand)

    @routes.post("/invoices/{invoice}/finalize", responses=answers("invoice", posts=True))
    async def finalize_invoice(request: Request, caller: writes, invoice: Name) -> Response:
        """Its customer and its PaymentIntent are made at Stripe now, not by a worker soon."""
        found = await the_invoice(api, caller.scope, invoice)
        return await once(api, caller, request, None, lambda act: _finalize(api, act, found.id))

    acts.add(api, routes, writes)
    return routes


async def the_invoice(api: Api, scope: Scope, name: str) -> InvoiceView:
    """The invoice with this id or reference. Refuses when there is none (INVOICE_NOT_FOUND)."""
    found = await views_invoices.one(api.db, scope, name) if _sane(name) else None
    if found is None:
        raise Refusal(Code.INVOICE_NOT_FOUND, id=name[:60])
    return found


def _sane(name: str) -> bool:
    """PostgreSQL stores no NUL, so that nothing is named by one."""
    return re.fullmatch(TEXT, name) is not None


async def _filter(api: Api, scope: Scope, query: InvoicesQuery) -> InvoiceFilter:
    customer = None
    if query.customer is not None:
        found = await views_customers.one(api.db, scope, query.customer)
        if found is None:
            raise Refusal(Code.CUSTOMER_NOT_FOUND, id=query.customer[:60])
        customer = found.id
    return InvoiceFilter(query.status, query.payment_status, customer)


async def _create(api: Api, act: Act, body: NewInvoiceBody) -> Answer:
    """Found again by its reference, which a repeated request has in common with the first."""
    amount = Money(body.amount, currency(body.currency))
    amount.require_chargeable()
    due_at = body.due_at or await checks.now(act.deps.db)
    if due_at.tzinfo is None:
        raise _wrong("due_at", "it has no offset from UTC")
    row = NewInvoice(
        reference=body.reference or f"api-{act.own_id(INVOICE)[4:]}",
        customer=await _customer(act, body.customer),
        email=body.email,
        payment_method=body.payment_method,
        amount=amount.minor,
        currency=amount.currency,
        due_at=due_at,
    )
    done = await imports.take_in(act.deps.db, act.scope, [row], actor=act.deps.actor)
    if done.differing:
        raise Refusal(ApiCode.INVOICE_DIFFERS, reference=row.reference)
    return Answer(await _shown(api, act, (done.created + done.already)[0]))


async def _customer(act: Act, named: str) -> str:
    """The customer's own reference; an id of ours has to be there."""
    if not named.startswith(f"{CUSTOMER.prefix}_"):
        return named
    found = await views_customers.one(act.deps.db, act.scope, named)
    if found is not None:
        return found.reference
    try:
        CUSTOMER.parse(named)
    except Refusal:
        return named
    raise Refusal(Code.CUSTOMER_NOT_FOUND, id=named)


async def _finalize(api: Api, act: Act, invoice_id: InvoiceId) -> Answer:
    connected = await act.deps.providers.of(act.scope)
    if connected is None:
        raise Refusal(Code.STRIPE_KEY_MISSING)
    await make_ready(act.deps, connected, act.scope, invoice_id)
    return Answer(await _shown(api, act, invoice_id))


async def _shown(api: Api, act: Act, invoice_id: InvoiceId) -> Object:
    found = await the_invoice(api, act.scope, invoice_id)
    return objects.invoice(found, api.app.settings.timing)


def _wrong(name: str, reason: str) -> Refusal:
    return Refusal(ApiCode.FIELD_INVALID, name=name, reason=reason, param=name)

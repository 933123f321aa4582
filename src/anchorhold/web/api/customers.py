"""`/v1/customers`."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from anchorhold import objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.ids import CUSTOMER
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.domain.scope import Scope
from anchorhold.store import customers, views_customers
from anchorhold.store.views_customers import CustomerView
from anchorhold.web.api.answers import listed
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers, listing
from anchorhold.web.api.expanding import expanded
from anchorhold.web.api.invoices import EMAIL, METHOD, TEXT, Text
from anchorhold.web.api.once import Act, Answer, once
from anchorhold.web.api.queries import Listed, Read, Strict, page_of

Name = Annotated[
    str, Path(max_length=200, description="Its id, your own reference, or its Stripe id.")
]


class NewCustomerBody(Strict):
    """A customer to collect from."""

    reference: Text = Field(
        description="Your own name of the customer, unique; a Stripe id (cus_…) is that customer."
    )
    email: str | None = Field(default=None, max_length=200, pattern=EMAIL)
    payment_method: str | None = Field(
        default=None, max_length=200, pattern=METHOD, description="A payment method of Stripe's."
    )


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["customers"])
    reads = Annotated[Caller, may(api, Noun.CUSTOMERS, Access.READ)]
    writes = Annotated[Caller, may(api, Noun.CUSTOMERS, Access.WRITE)]

    @routes.get("/customers", responses=listing("customer"))
    async def list_customers(request: Request, caller: reads, query: Listed) -> Any:
        """Customers, newest first."""
        rows, more = await page_of(
            query,
            lambda after, limit: views_customers.page(
                api.db, caller.scope, after=after, limit=limit
            ),
        )
        shown = [objects.customer(row) for row in rows]
        for each in shown:
            await expanded(api, caller.scope, each, query.expand, listed=True)
        return listed(request, shown, more=more)

    @routes.get("/customers/{customer}", responses=answers("customer"))
    async def retrieve_customer(caller: reads, customer: Name, query: Read) -> Any:
        """One customer, and how far it is set up at Stripe."""
        shown = objects.customer(await the_customer(api, caller.scope, customer))
        return await expanded(api, caller.scope, shown, query.expand)

    @routes.post("/customers", responses=answers("customer", posts=True))
    async def create_customer(request: Request, caller: writes, body: NewCustomerBody) -> Response:
        """The customer is known, and on its way to Stripe."""
        answer = await once(api, caller, request, body, lambda act: _create(api, act, body))
        await api.wake(caller.scope)
        return answer

    return routes


async def the_customer(api: Api, scope: Scope, name: str) -> CustomerView:
    """The customer with this id, reference or Stripe id. Refuses: CUSTOMER_NOT_FOUND."""
    sane = re.fullmatch(TEXT, name) is not None
    found = await views_customers.one(api.db, scope, name) if sane else None
    if found is None:
        raise Refusal(Code.CUSTOMER_NOT_FOUND, id=name[:60])
    return found


async def _create(api: Api, act: Act, body: NewCustomerBody) -> Answer:
    """Made now, or found made by this request before: its id is the request's."""
    _require_no_id(body.reference)
    new = act.own_id(CUSTOMER)
    made = await customers.create(
        act.deps.db,
        act.scope,
        new,
        reference=body.reference,
        email=body.email,
        payment_method=body.payment_method,
    )
    found = await the_customer(api, act.scope, body.reference)
    if made is None and found.id != new:
        raise Refusal(ApiCode.CUSTOMER_EXISTS, reference=body.reference)
    await customers.begin_all(act.deps.db, act.scope, [new])
    return Answer(objects.customer(await the_customer(api, act.scope, new)))


def _require_no_id(reference: str) -> None:
    """An id of ours as somebody's reference would name two customers."""
    try:
        CUSTOMER.parse(reference)
    except Refusal:
        return
    reason = "it is an id of Anchorhold's; give your own reference"
    raise Refusal(ApiCode.FIELD_INVALID, name="reference", reason=reason, param="reference")

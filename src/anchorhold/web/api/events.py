"""`/v1/events`: what Stripe told, and what it did here."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from anchorhold import objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store import views_events
from anchorhold.web.api.answers import listed
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers, listing
from anchorhold.web.api.invoices import the_invoice
from anchorhold.web.api.payments import OfInvoiceQuery
from anchorhold.web.api.queries import page_of

Name = Annotated[str, Path(max_length=200, pattern="^[^\\x00]+$", description="Stripe's id of it.")]


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["events"])
    reads = Annotated[Caller, may(api, Noun.EVENTS, Access.READ)]

    @routes.get("/events", responses=listing("event"))
    async def list_events(
        request: Request, caller: reads, query: Annotated[OfInvoiceQuery, Query()]
    ) -> Any:
        """Events of Stripe's, newest first."""
        named = query.invoice
        invoice = (await the_invoice(api, caller.scope, named)).id if named else None
        rows, more = await page_of(
            query,
            lambda after, limit: views_events.page(
                api.db, caller.scope, invoice_id=invoice, after=after, limit=limit
            ),
        )
        return listed(request, [objects.event(row) for row in rows], more=more)

    @routes.get("/events/{event}", responses=answers("event"))
    async def retrieve_event(caller: reads, event: Name) -> Any:
        """One event, and the rule by which it was acted on."""
        found = await views_events.one(api.db, caller.scope, event)
        if found is None:
            raise Refusal(Code.EVENT_NOT_FOUND, id=event[:60])
        return objects.event(found)

    return routes

"""`/v1/holds`: invoices that are being charged or confirmed; one can be asked about now."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from anchorhold import objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.hold import HoldState
from anchorhold.domain.ids import InvoiceId
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.engine.explain import check_now
from anchorhold.store import views_invoices
from anchorhold.web.api.answers import listed
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers, listing
from anchorhold.web.api.expanding import expanded
from anchorhold.web.api.invoices import the_invoice
from anchorhold.web.api.once import Act, Answer, once
from anchorhold.web.api.queries import Listed, Read, page_of

Name = Annotated[str, Path(max_length=200, description="Id or reference of the invoice.")]


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["holds"])
    reads = Annotated[Caller, may(api, Noun.HOLDS, Access.READ)]
    writes = Annotated[Caller, may(api, Noun.HOLDS, Access.WRITE)]
    timing = api.app.settings.timing

    @routes.get("/holds", responses=listing("hold"))
    async def list_holds(request: Request, caller: reads, query: Listed) -> Any:
        """All that is being charged or confirmed with Stripe, newest invoice first."""
        rows, more = await page_of(
            query,
            lambda after, limit: views_invoices.under_way(
                api.db, caller.scope, after=after, limit=limit
            ),
        )
        shown = [objects.hold(row, timing) for row in rows]
        for each in shown:
            await expanded(api, caller.scope, each, query.expand, listed=True)
        return listed(request, shown, more=more)

    @routes.get("/holds/{invoice}", responses=answers("hold"))
    async def retrieve_hold(caller: reads, invoice: Name, query: Read) -> Any:
        """The hold of one invoice."""
        found = await the_invoice(api, caller.scope, invoice)
        if found.hold is HoldState.NONE:
            raise Refusal(Code.HOLD_NOT_FOUND, invoice=found.id)
        return await expanded(api, caller.scope, objects.hold(found, timing), query.expand)

    @routes.post("/holds/{invoice}/check", responses=answers("check", posts=True))
    async def check_hold(request: Request, caller: writes, invoice: Name) -> Response:
        """Ask Stripe about it now, and act on what it says; it never sends a charge."""
        found = await the_invoice(api, caller.scope, invoice)
        return await once(api, caller, request, None, lambda act: _check(api, act, found.id))

    return routes


async def _check(api: Api, act: Act, invoice_id: InvoiceId) -> Answer:
    step = await check_now(act.deps, act.scope, invoice_id)
    now = await the_invoice(api, act.scope, invoice_id)
    return Answer(
        {
            "object": "check",
            "id": invoice_id,
            "rule": step.rule if step else None,
            "act": step.act if step else None,
            "because": step.because if step else None,
            "invoice": objects.invoice(now, api.app.settings.timing),
        }
    )

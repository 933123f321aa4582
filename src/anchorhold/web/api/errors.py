"""`/v1/errors/{code}`: what `doc_url` points to, answered to anybody."""

from typing import Annotated, Any

from fastapi import APIRouter, Path

from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.refusals import CODES, Refusal
from anchorhold.web.api.calling import Api
from anchorhold.web.api.document import explained


def router(api: Api) -> APIRouter:
    """The route."""
    del api
    routes = APIRouter(tags=["errors"])

    @routes.get("/errors/{code}", responses=explained())
    async def explain_error(code: Annotated[str, Path(max_length=60)]) -> Any:
        """What a code means and what to do; names in braces stand for facts of the case."""
        for row in CODES:
            if row.code == code:
                return {
                    "object": "error_code",
                    "id": row.code,
                    "type": row.surface.error_type,
                    "status": row.surface.status,
                    "message": row.value.sentence,
                    "next_step": row.value.next_step,
                }
        path = f"/v1/errors/{code}"
        raise Refusal(ApiCode.ROUTE_NOT_FOUND, method="GET", path=path)

    return routes

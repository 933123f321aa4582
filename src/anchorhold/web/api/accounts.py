"""`/v1/account`: the account and mode that the key opens."""

from typing import Annotated, Any

from fastapi import APIRouter

from anchorhold import objects
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store import accounts
from anchorhold.web.api.calling import Api, Caller, may
from anchorhold.web.api.document import answers


def router(api: Api) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["account"])
    reads = Annotated[Caller, may(api, Noun.ACCOUNT, Access.READ)]

    @routes.get("/account", responses=answers("account"))
    async def retrieve_account(caller: reads) -> Any:
        """The key's account: how it charges, and whether Stripe accepts its key."""
        rows = [
            row
            for row in await accounts.all_accounts(api.db)
            if row.id == caller.scope.account_id and row.livemode in {caller.scope.livemode, None}
        ]
        if not rows:
            raise Refusal(Code.ACCOUNT_NOT_FOUND, id=caller.scope.account_id)
        return objects.account(rows[0])

    return routes

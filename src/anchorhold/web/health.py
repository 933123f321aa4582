"""Whether the process lives (`/healthz`) and whether it can work (`/readyz`)."""

import asyncio

import psycopg
from fastapi import APIRouter
from fastapi.responses import JSONResponse

from anchorhold.domain.refusals import Code, Refusal
from anchorhold.store import schema
from anchorhold.store.db import Db
from anchorhold.stripe.breaker import Breaker

ANSWER_S = 2
"""A database that is slower than this is not ready."""


def router(db: Db, breaker: Breaker) -> APIRouter:
    """The two endpoints. `/readyz` answers 503 and why not, as a code and a sentence.

    An open breaker is told and is no reason: what is unclear is still asked about.
    """
    web = APIRouter()

    @web.get("/healthz")
    async def healthz() -> dict[str, str]:
        """200 while the process answers at all."""
        return {"status": "alive"}

    @web.get("/readyz")
    async def readyz() -> JSONResponse:
        """200 when the database answers and has the schema of this version."""
        refusal = await not_ready(db)
        if refusal is None:
            state = breaker.view().state.value
            return JSONResponse({"status": "ready", "breaker": state})
        said = {"status": "not_ready", "code": refusal.code.code, "message": refusal.sentence}
        return JSONResponse(said, status_code=503)

    return web


async def not_ready(db: Db) -> Refusal | None:
    """Why no work can be done, or None."""
    try:
        async with asyncio.timeout(ANSWER_S):
            await schema.require_current(db)
    except Refusal as refusal:
        return refusal
    except (psycopg.OperationalError, TimeoutError) as error:
        reason = str(error).strip() or f"no answer within {ANSWER_S} seconds"
        return Refusal(Code.DATABASE_UNREACHABLE, reason=reason)
    return None

"""The floor of the intake: a Starlette endpoint that checks the HMAC and does one INSERT."""

import hmac
from hashlib import sha256
from typing import Final, LiteralString

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from anchorhold.entropy import wall_clock
from anchorhold.store.db import Db

TABLE: Final[LiteralString] = "CREATE TABLE IF NOT EXISTS public.bare (event text)"
INSERT: Final[LiteralString] = "INSERT INTO public.bare (event) VALUES (%(event)s) RETURNING event"
TOLERANCE_S: Final = 300


def bare(db: Db, secret: str) -> Starlette:
    """Answers 200 when the signature is right and the row is committed, else 400."""

    async def stripe(request: Request) -> JSONResponse:
        body = await request.body()
        if not _signed(body, request.headers.get("stripe-signature", ""), secret.encode()):
            return JSONResponse({"error": "signature"}, status_code=400)
        await db.one(INSERT, str, event=body[:80].decode())
        return JSONResponse({"received": True})

    return Starlette(routes=[Route("/stripe/{account}", stripe, methods=["POST"])])


def _signed(body: bytes, header: str, secret: bytes) -> bool:
    said = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    at = said.get("t", "")
    made = hmac.new(secret, at.encode() + b"." + body, sha256).hexdigest()
    fresh = at.isdecimal() and abs(wall_clock().timestamp() - int(at)) <= TOLERANCE_S
    return fresh and hmac.compare_digest(made, said.get("v1", ""))

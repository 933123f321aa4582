"""A webhook endpoint that keeps what it gets."""

import json

from aiohttp import web


class Receiver:
    """A webhook endpoint that answers as it is told, and keeps what it got."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.got: list[tuple[bytes, str]] = []

    async def handle(self, request: web.BaseRequest) -> web.Response:
        self.got.append((await request.read(), request.headers["Stripe-Signature"]))
        status = self.statuses.pop(0) if self.statuses else 200
        return web.Response(status=status, headers={"Location": "/elsewhere"})

    def types(self) -> list[str]:
        return [json.loads(body)["type"] for body, _ in self.got]

"""An application behind a real HTTP server on a free port of this machine."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from anchorhold.settings import Listen
from anchorhold.web import serving


@asynccontextmanager
async def served(app: FastAPI) -> AsyncGenerator[str]:
    """Where it answers, until the end."""
    with serving.bind(Listen("127.0.0.1", 0)) as listener:
        answering = asyncio.create_task(serving.serve(app, listener))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            answering.cancel()
            await asyncio.wait({answering})

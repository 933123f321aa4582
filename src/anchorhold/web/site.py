"""Everything that a process answers over HTTP, put together."""

from fastapi import FastAPI

from anchorhold.app import App
from anchorhold.domain.scope import Scope
from anchorhold.signing_keys import SigningKeys
from anchorhold.web import health, intake, metrics
from anchorhold.web.intake import Wake
from anchorhold.web.metrics import Text
from anchorhold.web.page import routes as page


async def nobody(scope: Scope) -> None:
    """Wakes nobody: the next tick acts on what waits."""
    del scope


def site(app: App, wake: Wake = nobody, text: Text | None = None) -> FastAPI:
    """`/healthz`, `/readyz`, and Stripe's webhooks at `/stripe/{account}`, pages at `/pay`.

    With `text`, which makes it, `/metrics` as well.
    """
    web = FastAPI(title="Anchorhold", docs_url=None, redoc_url=None, openapi_url=None)
    deps = app.deps
    web.include_router(health.router(deps.db, app.wires.breaker))
    if text is not None:
        web.include_router(metrics.router(text))
    keys = SigningKeys(deps.db, app.secret_key, deps.log)
    web.router.routes.insert(0, intake.route(deps, keys, wake))
    web.include_router(page.router(app))
    return web

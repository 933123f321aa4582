"""Everything that a process answers over HTTP, put together."""

from fastapi import FastAPI

from anchorhold.app import App
from anchorhold.domain.scope import Scope
from anchorhold.signing_keys import SigningKeys
from anchorhold.web import health, intake, metrics
from anchorhold.web.api import v1
from anchorhold.web.api.calling import Api
from anchorhold.web.intake import Wake
from anchorhold.web.metrics import Text
from anchorhold.web.page import routes as page


async def nobody(scope: Scope) -> None:
    """Wakes nobody: the next tick acts on what waits."""
    del scope


def site(app: App, wake: Wake = nobody, text: Text | None = None, due: Wake = nobody) -> FastAPI:
    """`/healthz`, `/readyz`, the API at `/v1`, pages at `/pay`, and `/stripe/{account}`.

    That is where Stripe's webhooks come in. With `text`, which makes it, `/metrics` as well.
    `wake` asks that workers act on news, `due` that they look for what is to be charged.
    """
    web = FastAPI(title="Anchorhold", docs_url=None, redoc_url=None, openapi_url=None)
    deps = app.deps
    web.include_router(health.router(deps.db, app.wires.breaker))
    if text is not None:
        web.include_router(metrics.router(text))
    keys = SigningKeys(deps.db, app.secret_key, deps.log)
    web.router.routes.insert(0, intake.route(deps, keys, wake))
    web.include_router(page.router(app))
    web.mount("/v1", v1(Api(app, due)))
    return web

"""`anchorhold serve`: answer over HTTP."""

from anchorhold.app import open_app, operator_actor
from anchorhold.cli.call import Call, lone, verb
from anchorhold.cli.output import say
from anchorhold.cli.session import load_settings
from anchorhold.web import serving
from anchorhold.web.site import site
from anchorhold.worker.stop import Stop, first_of

app = lone()


@verb(
    app,
    "serve",
    "anchorhold serve",
    "ANCHORHOLD_LISTEN=0.0.0.0:8787 anchorhold serve",
    scoped=False,
)
async def serve(call: Call) -> None:
    """Answer over HTTP on ANCHORHOLD_LISTEN until stopped: health checks and Stripe's webhooks."""
    del call
    settings = load_settings()
    with serving.bind(settings.listen) as listener:
        async with open_app(settings, actor=operator_actor()) as process:
            host, port = listener.getsockname()[:2]
            say(f"listening on http://{host}:{port}")
            stop = Stop()
            with stop.on_signals():
                await first_of(serving.serve(site(process), listener), stop.wait())

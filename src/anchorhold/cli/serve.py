"""`anchorhold serve`: answer over HTTP."""

from anchorhold.app import open_app, operator_actor
from anchorhold.cli.call import Call, lone, verb
from anchorhold.cli.output import say
from anchorhold.cli.session import load_settings
from anchorhold.metrics import Meters
from anchorhold.web import metrics, serving
from anchorhold.web.site import site
from anchorhold.worker.bell import bell
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
    """Answer over HTTP until stopped: health checks, Stripe's webhooks, metrics.

    On ANCHORHOLD_LISTEN; `/metrics` on ANCHORHOLD_METRICS_LISTEN alone where that is set.
    """
    del call
    settings = load_settings()
    with serving.bind(settings.listen) as listener:
        apart, meters = metrics.bind(settings), Meters()
        async with open_app(settings, actor=operator_actor(), meter=meters) as process:
            host, port = listener.getsockname()[:2]
            say(f"listening on http://{host}:{port}")
            stop = Stop()
            text = metrics.exposition(process, meters).text
            with stop.on_signals():
                async with bell(process) as workers, metrics.served(process, text, apart):
                    web = site(process, workers.ring, None if apart else text, workers.due)
                    await first_of(serving.serve(web, listener), stop.wait())

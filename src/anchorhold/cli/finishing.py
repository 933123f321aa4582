"""Acts at Stripe that one Ctrl-C does not cut in the middle."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from anchorhold.cli.output import say
from anchorhold.domain.ids import InvoiceId
from anchorhold.worker.stop import Stop, first_of

T = TypeVar("T")


async def to_its_end(act: Coroutine[Any, Any, T], invoice_id: InvoiceId) -> T:
    """What the act came to. After a second Ctrl-C the sweep finds its end: KeyboardInterrupt."""
    acting = asyncio.create_task(act)
    stop = Stop()
    with stop.on_signals():
        await first_of(asyncio.wait({acting}), stop.wait())
        if not acting.done():
            say("finishing this act; Ctrl-C again stops at once")
            await first_of(asyncio.wait({acting}), stop.wait_at_once())
    if acting.done():
        return acting.result()
    acting.cancel()
    say(f"left to the sweep: `anchorhold hold explain {invoice_id}` says how it stands")
    raise KeyboardInterrupt

"""The catch-up: what Stripe told since the last tick, page by page, through the door for news.

So a lost webhook, a success that somebody else confirmed, a late decline, a refund made in Stripe's
dashboard are seen by a tick (protocol sections 6, Audit, and 9).
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from anchorhold.domain.answer import Doubt, NothingSent, NotSent, Page, Result, Shown, Unclear
from anchorhold.domain.event import StripeEvent
from anchorhold.domain.ids import NOTICE
from anchorhold.domain.news import OVERLAP_S, TYPES, EventSource
from anchorhold.domain.scope import Scope
from anchorhold.engine import news, refunds
from anchorhold.engine.deps import Connected, Deps
from anchorhold.store import event_cursors, events
from anchorhold.store.db import only
from anchorhold.store.event_cursors import Cursor

WINDOW: Final = timedelta(days=30)
"""One list is about all that was missed, if Stripe lists it in time."""
LEAST: Final = timedelta(minutes=15)
"""Otherwise the time is cut in four, down to this, and the cursor moves piece by piece."""
LIST_S: Final = 20.0
"""So long one list may take: at Stripe's rate limit about 50,000 events."""


@dataclass(slots=True)
class Audited:
    """What one catch-up did: events that were new, rows by which they had their effect."""

    read: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    refunds: dict[str, int] = field(default_factory=dict)
    stopped: str | None = None


async def audit(deps: Deps, scope: Scope) -> Audited:
    """Stripe's events since the cursor are rows of ours, and each that could have its effect had.

    The first time it looks back 30 days. A gap that is longer than Stripe's memory is said, as an
    error in the log and a notice. A list without an answer leaves the cursor where it is.
    """
    audited = Audited()
    connected = await deps.providers.of(scope)
    if connected is None:
        return audited
    cursor = await event_cursors.begin(deps.db, scope, connected.stripe_account)
    if cursor is not None:
        if cursor.lost:
            await _say_gap(deps, connected, scope, cursor)
        await _catch_up(deps, connected, scope, cursor, audited)
    audited.rows = await news.act_waiting(deps, connected, scope)
    audited.refunds = await refunds.finish(deps, connected, scope)
    return audited


async def _say_gap(deps: Deps, connected: Connected, scope: Scope, cursor: Cursor) -> None:
    notice_id = only(deps.db.new_ids(NOTICE, 1))
    await event_cursors.gap(deps.db, scope, connected.stripe_account, notice_id=notice_id)
    deps.log.error("events.gap", account=scope.account_id, listed_from=cursor.read_to)


async def _catch_up(
    deps: Deps, connected: Connected, scope: Scope, cursor: Cursor, audited: Audited
) -> None:
    """Window by window, oldest first; each is committed before the cursor moves behind it."""
    at, window = cursor.read_to, WINDOW
    while at < cursor.now:
        until = min(at + window, cursor.now)
        listed = await _list(deps, connected, at, until)
        if not isinstance(listed, Shown):
            window /= 4
            if not _took_too_long(listed) or window < LEAST:
                audited.stopped = "Stripe did not list its events"
                return
            continue
        found = [event for event in reversed(listed.value.rows) if not event.is_foreign(scope)]
        new = await events.put(
            deps.db, scope, connected.stripe_account, found, EventSource.CATCH_UP
        )
        audited.read += len(new)
        await event_cursors.advance(deps.db, scope, connected.stripe_account, read_to=until)
        at = until


async def _list(
    deps: Deps, connected: Connected, since: datetime, until: datetime
) -> Result[Page[StripeEvent]]:
    """All pages; a second more at the end, since Stripe's times are whole seconds."""
    answer = await connected.provider.list_news(
        TYPES,
        int(since.timestamp()) - OVERLAP_S,
        int(until.timestamp()) + 1,
        connected.provider.deadline(LIST_S),
    )
    if not isinstance(answer, Shown):
        deps.log.error("events.unread", since=since, answer=str(answer))
    return answer


def _took_too_long(answer: Result[Page[StripeEvent]]) -> bool:
    """The list was cut by its deadline: less of it may come in time."""
    return isinstance(answer, NothingSent | Unclear) and answer.cause in {
        NotSent.DEADLINE_PASSED,
        Doubt.DEADLINE,
    }

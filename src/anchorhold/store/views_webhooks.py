"""Deliveries to endpoints as people and programs read them; nothing here is written."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import DeliveryId, EndpointId, InvoiceId, MessageId
from anchorhold.domain.scope import Scope
from anchorhold.domain.webhook import DeliveryState
from anchorhold.store.conditions import given
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """One message on its way to one endpoint; `last_said`: an HTTP status, or why there is none."""

    id: DeliveryId
    endpoint_id: EndpointId
    url: str
    message_id: MessageId
    type: str
    invoice_id: InvoiceId
    sequence: int
    state: DeliveryState
    tries: int
    last_said: str | None
    next_try_at: datetime
    created_at: datetime
    ended_at: datetime | None


_PAGE = """
SELECT d.id, d.endpoint_id, e.url, d.message_id, m.type, m.invoice_id, m.sequence, d.state,
       d.tries, d.last_said, d.next_try_at, d.created_at, d.ended_at
  FROM anchorhold.webhook_delivery d
  JOIN anchorhold.message m
    ON m.account_id = d.account_id AND m.livemode = d.livemode AND m.id = d.message_id
  JOIN anchorhold.webhook_endpoint e
    ON e.account_id = d.account_id AND e.livemode = d.livemode AND e.id = d.endpoint_id
 WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
"""


_COUNT = """
SELECT count(*) FROM anchorhold.webhook_delivery d
 WHERE d.account_id = %(account_id)s AND d.livemode = %(livemode)s
"""


async def deliveries(
    db: Db,
    scope: Scope,
    *,
    endpoint_id: EndpointId | None,
    state: DeliveryState | None,
    after: str | None,
    limit: int,
) -> list[DeliveryView]:
    """Up to `limit` deliveries, newest first, from behind the id `after`."""
    return await db.all(
        _PAGE
        + given(
            (endpoint_id, " AND d.endpoint_id = %(endpoint_id)s"),
            (state, " AND d.state = %(state)s"),
            (after, " AND d.id < %(after)s"),
        )
        + " ORDER BY d.id DESC LIMIT %(limit)s",
        DeliveryView,
        **scope.params,
        endpoint_id=endpoint_id,
        state=state,
        after=after,
        limit=limit,
    )


async def count(
    db: Db, scope: Scope, *, endpoint_id: EndpointId | None, state: DeliveryState | None
) -> int:
    """How many deliveries fit."""
    found = await db.one(
        _COUNT
        + given(
            (endpoint_id, " AND d.endpoint_id = %(endpoint_id)s"),
            (state, " AND d.state = %(state)s"),
        ),
        int,
        **scope.params,
        endpoint_id=endpoint_id,
        state=state,
    )
    return found or 0

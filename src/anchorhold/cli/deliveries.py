"""How deliveries to endpoints are listed."""

from anchorhold.cli import objects
from anchorhold.cli.output import Column, Listing
from anchorhold.cli.session import Session
from anchorhold.domain.ids import EndpointId
from anchorhold.domain.webhook import DeliveryState
from anchorhold.store import views_webhooks
from anchorhold.store.views_webhooks import DeliveryView


def listing(
    desk: Session, to: EndpointId | None, state: DeliveryState | None, flags: str
) -> Listing[DeliveryView]:
    return Listing(
        again=f"anchorhold webhook deliveries{flags}",
        columns=(
            Column("id", lambda row: row.id),
            Column("type", lambda row: row.type),
            Column("invoice", lambda row: row.invoice_id, from_width=130),
            Column("to", lambda row: row.url, from_width=160),
            Column("state", lambda row: row.state.value),
            Column("tries", lambda row: str(row.tries), right=True),
            Column("answer", lambda row: row.last_said or "-"),
            Column("next", lambda row: _next(desk, row), from_width=100),
        ),
        id_of=lambda row: row.id,
        to_object=objects.delivery,
        fetch=lambda after, limit: views_webhooks.deliveries(
            desk.db, desk.scope, endpoint_id=to, state=state, after=after, limit=limit
        ),
        total=lambda: views_webhooks.count(desk.db, desk.scope, endpoint_id=to, state=state),
        empty="Nothing was on its way yet.",
    )


def _next(desk: Session, row: DeliveryView) -> str:
    return desk.when.at(row.next_try_at) if row.state is DeliveryState.WAITING else "-"

"""How deliveries of Stripe's events are listed."""

from anchorhold.cli import objects
from anchorhold.cli.output import Column, Listing
from anchorhold.cli.session import Session
from anchorhold.domain.scope import Scope
from anchorhold.store import views_events
from anchorhold.store.views_events import DeliveryFilter, EventDeliveryRow


def listing(
    desk: Session, scope: Scope, which: DeliveryFilter, flags: str
) -> Listing[EventDeliveryRow]:
    """The deliveries of the scope that the filter fits; `flags` are its options again."""
    return Listing(
        again=f"anchorhold event deliveries{flags}",
        columns=(
            Column("id", lambda row: row.id),
            Column("verdict", lambda row: row.verdict.value.replace("_", " ")),
            Column("event", lambda row: row.event_id or "-", from_width=100),
            Column("type", lambda row: row.event_type or "-", from_width=130),
            Column("version", lambda row: row.api_version or "-", from_width=170),
            Column("secret", lambda row: row.secret_id or "-", from_width=190),
            Column("age", lambda row: "-" if row.age_s is None else f"{row.age_s} s", right=True),
            Column("bytes", lambda row: f"{row.bytes:,}", right=True, from_width=140),
            Column("from", lambda row: row.source, from_width=120),
            Column("came in", lambda row: desk.when.at(row.received_at)),
        ),
        id_of=lambda row: row.id,
        to_object=objects.event_delivery,
        fetch=lambda after, limit: views_events.deliveries(
            desk.db, scope, which, after=after, limit=limit
        ),
        total=lambda: views_events.count_deliveries(desk.db, scope, which),
        empty="No deliveries fit." if flags else "Nothing came in yet.",
    )

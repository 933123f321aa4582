"""What an attempt left behind, in one look."""

from dataclasses import dataclass

from anchorhold.domain.ids import InvoiceId
from tests.engine.rig import Rig


@dataclass(frozen=True)
class Left:
    """The invoice, its newest attempt and its newest intent row; `free` says there is no hold."""

    status: str
    payment_status: str
    free: bool
    seq: int
    attempt: tuple[str, str | None, str | None]
    intent: str | None
    blocked: str | None = None


def left(world: Rig, invoice: InvoiceId) -> Left:
    """How things stand: attempt as (state, cause, rule)."""
    row = world.row(invoice)
    attempts = world.sql(
        "SELECT state, cause, rule FROM anchorhold.attempt WHERE invoice_id = %s ORDER BY id",
        invoice,
    )
    intents = world.sql(
        "SELECT state FROM anchorhold.intent WHERE invoice_id = %s ORDER BY number", invoice
    )
    return Left(
        row["status"],
        row["payment_status"],
        row["hold_until"] is None,
        row["charge_seq"],
        attempts[-1],
        intents[-1][0] if intents else None,
        row["blocked_reason"],
    )


def journal(world: Rig, invoice: InvoiceId) -> list[tuple[str, str | None]]:
    """What happened and by which rule, oldest first."""
    return world.sql(
        "SELECT what, rule FROM anchorhold.journal WHERE invoice_id = %s ORDER BY entry", invoice
    )


def notices(world: Rig) -> list[str]:
    """The codes of all notices."""
    return [row[0] for row in world.sql("SELECT code FROM anchorhold.notice ORDER BY code")]

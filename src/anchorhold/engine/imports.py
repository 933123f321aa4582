"""Taking in invoices: all of a file's rows in one transaction, or none.

The same rows again change nothing, because `reference` is the user's own name of an invoice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from anchorhold.domain.ids import CustomerId, InvoiceId
from anchorhold.domain.scope import Scope
from anchorhold.store import customers, invoices, views_invoices
from anchorhold.store.db import Db
from anchorhold.store.invoices import NewInvoice

TRIES = 3


@dataclass(slots=True)
class Imported:
    """What became of the rows; each is in exactly one of the three."""

    created: list[InvoiceId] = field(default_factory=list)
    already: list[InvoiceId] = field(default_factory=list)
    """Their references were there before, with the same amount, currency and customer."""
    differing: list[str] = field(default_factory=list)
    """References that were there before with another amount, currency or customer; left alone."""


async def take_in(db: Db, scope: Scope, rows: Sequence[NewInvoice], *, actor: str) -> Imported:
    """Every row is an open invoice, and every customer is on its way to Stripe.

    A process that dies in between leaves customers that the next import, or the next connecting
    of the account, sends on their way.
    """
    done = Imported()
    named: set[CustomerId] = set()
    left = list(rows)
    for _ in range(TRIES):
        taken = await invoices.take_in(db, scope, left, actor=actor) if left else []
        for row in taken:
            _count(done, row)
            # Another import made one of the customers at the same moment: its rows wait for it.
            named.add(row.customer_id)
        there = {row.reference for row in taken}
        left = [row for row in left if row.reference not in there]
        if not left:
            await customers.begin_all(db, scope, sorted(named))
            return done
    raise RuntimeError(f"{len(left)} rows were not taken in: {left[0].reference}")


def _count(done: Imported, row: invoices.TakenIn) -> None:
    if row.created:
        done.created.append(row.id)
    elif row.differs:
        done.differing.append(row.reference)
    else:
        done.already.append(row.id)


@dataclass(frozen=True, slots=True)
class Preview:
    """What `take_in` would do now; numbers of rows, and the references that differ."""

    created: int
    already: int
    differing: list[str]


async def preview(db: Db, scope: Scope, rows: Sequence[NewInvoice]) -> Preview:
    """What taking in these rows would do; nothing is changed."""
    known = {
        row.reference: row
        for row in await views_invoices.known(db, scope, [row.reference for row in rows])
    }
    there = [row for row in rows if row.reference in known]
    differing = [row.reference for row in there if _differs(row, known[row.reference])]
    return Preview(len(rows) - len(there), len(there) - len(differing), differing)


def _differs(row: NewInvoice, known: views_invoices.Known) -> bool:
    before = (known.amount_due, known.currency, known.customer_reference)
    return before != (row.amount, row.currency, row.customer)

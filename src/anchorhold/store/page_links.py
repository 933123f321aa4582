"""Links of the hosted page, and what the page shows; each function is one statement."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import InvoiceId, PageLinkId
from anchorhold.domain.invoice import InvoiceStatus, PaymentStatus
from anchorhold.domain.page_link import LinkState, Locale
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link as it is now; its token is written by `domain.page_link.token_of`."""

    id: PageLinkId
    invoice_id: InvoiceId
    locale: Locale | None
    state: LinkState
    expires_at: datetime
    revoked_at: datetime | None
    created_at: datetime


async def make(
    db: Db,
    scope: Scope,
    link_id: PageLinkId,
    invoice_id: InvoiceId,
    *,
    lasts_s: float,
    locale: Locale | None,
    actor: str,
) -> PageLink | None:
    """The link opens the page of this invoice, so many seconds long.

    None: there is no such invoice, it is a draft, or the id is taken.
    """
    return await db.one(
        """
        WITH made AS (
            INSERT INTO anchorhold.page_link
                   (account_id, livemode, id, invoice_id, locale, expires_at)
            SELECT i.account_id, i.livemode, %(link_id)s, i.id, %(locale)s,
                   anchorhold.now() + make_interval(secs => %(lasts_s)s)
              FROM anchorhold.invoice i
             WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
               AND i.id = %(invoice_id)s AND i.status <> 'draft'
            ON CONFLICT DO NOTHING
            RETURNING *
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'link.made',
                   jsonb_build_object('link_id', id, 'expires_at', expires_at)
              FROM made
        )
        SELECT id, invoice_id, locale, 'open' AS state, expires_at, revoked_at, created_at
          FROM made
        """,
        PageLink,
        **scope.params,
        link_id=link_id,
        invoice_id=invoice_id,
        lasts_s=lasts_s,
        locale=locale,
        actor=actor,
    )


async def revoke(db: Db, scope: Scope, link_id: PageLinkId, *, actor: str) -> InvoiceId | None:
    """The link opens nothing from now on; None: there is none, or it was revoked before."""
    found = await db.one(
        """
        WITH revoked AS (
            UPDATE anchorhold.page_link
               SET revoked_at = anchorhold.now()
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id = %(link_id)s AND revoked_at IS NULL
            RETURNING account_id, livemode, id, invoice_id
        ), told AS (
            INSERT INTO anchorhold.journal (account_id, livemode, invoice_id, actor, what, detail)
            SELECT account_id, livemode, invoice_id, %(actor)s, 'link.revoked',
                   jsonb_build_object('link_id', id)
              FROM revoked
        )
        SELECT invoice_id FROM revoked
        """,
        str,
        **scope.params,
        link_id=link_id,
        actor=actor,
    )
    return InvoiceId(found) if found else None


_SELECT = """
        SELECT l.id, l.invoice_id, l.locale,
               CASE WHEN l.revoked_at IS NOT NULL THEN 'revoked'
                    WHEN l.expires_at <= clock.now THEN 'expired'
                    ELSE 'open' END AS state,
               l.expires_at, l.revoked_at, l.created_at
          FROM anchorhold.page_link l
         CROSS JOIN (SELECT anchorhold.now() AS now) clock
         WHERE l.account_id = %(account_id)s AND l.livemode = %(livemode)s
"""


async def one(db: Db, scope: Scope, link_id: PageLinkId) -> PageLink | None:
    """The link as it is now, or None."""
    return await db.one(
        _SELECT + " AND l.id = %(link_id)s",
        PageLink,
        **scope.params,
        link_id=link_id,
    )


async def of_invoice(db: Db, scope: Scope, invoice_id: InvoiceId) -> list[PageLink]:
    """The links of an invoice, newest first, with those that have ended; 100 at most."""
    return await db.all(
        _SELECT + " AND l.invoice_id = %(invoice_id)s ORDER BY l.id DESC LIMIT 100",
        PageLink,
        **scope.params,
        invoice_id=invoice_id,
    )


async def present(
    db: Db, scope: Scope, *, publishable_key: str | None, public_name: str | None
) -> str | None:
    """The mode's page uses this key and this name; None leaves one as it is.

    The Stripe account's id; None: the mode is not connected.
    """
    return await db.one(
        """
        UPDATE anchorhold.connection
           SET publishable_key = coalesce(%(publishable_key)s::text, publishable_key),
               public_name = coalesce(%(public_name)s::text, public_name)
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
        RETURNING stripe_account
        """,
        str,
        **scope.params,
        publishable_key=publishable_key,
        public_name=public_name,
    )


@dataclass(frozen=True, slots=True)
class Facts:
    """What the page says of an invoice; amounts in minor units."""

    business: str
    publishable_key: str | None
    reference: str
    status: InvoiceStatus
    payment_status: PaymentStatus
    currency: str
    amount_due: int
    amount_paid: int
    due_at: datetime
    paid_at: datetime | None
    livemode: bool
    intent_id: str | None


async def facts(db: Db, scope: Scope, invoice_id: InvoiceId) -> Facts | None:
    """What the page says of this invoice now, or None when there is none."""
    return await db.one(
        """
        SELECT coalesce(c.public_name, account.name) AS business, c.publishable_key, i.reference,
               i.status, i.payment_status, i.currency, i.amount_due, i.amount_paid, i.due_at,
               i.paid_at, i.livemode, i.intent_id
          FROM anchorhold.invoice i
          JOIN anchorhold.account ON account.id = i.account_id
          LEFT JOIN anchorhold.connection c
            ON c.account_id = i.account_id AND c.livemode = i.livemode
         WHERE i.account_id = %(account_id)s AND i.livemode = %(livemode)s
           AND i.id = %(invoice_id)s
        """,
        Facts,
        **scope.params,
        invoice_id=invoice_id,
    )

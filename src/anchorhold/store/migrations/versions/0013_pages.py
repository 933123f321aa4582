"""Links of the hosted payment page, and what the page says of the business.

A link's token is no column: it is made from the link's place with the secret key.
"""

from alembic import op

revision = "0013"
down_revision = "0012"

LINKS = """
CREATE TABLE anchorhold.page_link (
    account_id text NOT NULL,
    livemode   boolean NOT NULL,
    id         text NOT NULL,
    invoice_id text NOT NULL,
    locale     text CHECK (locale IN ('en', 'de', 'fr', 'es')),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT anchorhold.now(),
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id, livemode, invoice_id) REFERENCES anchorhold.invoice
);
CREATE INDEX page_link_invoice ON anchorhold.page_link (account_id, livemode, invoice_id, id);
COMMENT ON COLUMN anchorhold.page_link.locale IS 'The language of the page; NULL: the browser''s.';
"""

BUSINESS = """
ALTER TABLE anchorhold.connection ADD COLUMN publishable_key text;
ALTER TABLE anchorhold.connection ADD COLUMN public_name text;
COMMENT ON COLUMN anchorhold.connection.publishable_key IS
    'Stripe''s key for browsers; no secret. Without it the page cannot take a payment.';
COMMENT ON COLUMN anchorhold.connection.public_name IS
    'What customers know the business as; NULL: the account''s name.';
"""


def upgrade() -> None:
    """One new table, and two columns that the page reads."""
    op.execute(LINKS)
    op.execute(BUSINESS)

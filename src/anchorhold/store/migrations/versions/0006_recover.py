"""Which database a mode's rows are known to be whole in, and its recoveries (section 11)."""

from alembic import op

revision = "0006"
down_revision = "0005"

LINEAGE = """
CREATE FUNCTION anchorhold.lineage() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    system   text := '-';
    timeline text := '-';
BEGIN
    BEGIN
        SELECT system_identifier::text INTO system FROM pg_control_system();
    EXCEPTION WHEN insufficient_privilege OR undefined_function OR feature_not_supported THEN
        NULL;
    END;
    BEGIN
        timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    EXCEPTION WHEN insufficient_privilege OR undefined_function OR feature_not_supported
                OR object_not_in_prerequisite_state THEN
        NULL;
    END;
    RETURN system || '/' || timeline || '/'
        || (SELECT oid FROM pg_database WHERE datname = current_database());
END
$$;
COMMENT ON FUNCTION anchorhold.lineage() IS
    'Cluster, timeline and database. Changes with a fail-over and a restore; - is not told.';
"""

CONNECTION = """
ALTER TABLE anchorhold.connection
    ADD COLUMN lineage text NOT NULL DEFAULT anchorhold.lineage(),
    ADD COLUMN seen_at timestamptz NOT NULL DEFAULT anchorhold.now();
COMMENT ON COLUMN anchorhold.connection.lineage IS
    'Where the rows are known to be whole: claims compare it with anchorhold.lineage().';
COMMENT ON COLUMN anchorhold.connection.seen_at IS
    'A commit that is surely here, in steps of a minute: what came later may have been lost.';
"""

RECOVERY = """
CREATE TABLE anchorhold.recovery (
    account_id  text NOT NULL,
    livemode    boolean NOT NULL,
    id          text NOT NULL,
    lineage     text NOT NULL,
    since       timestamptz NOT NULL,
    actor       text NOT NULL,
    began_at    timestamptz NOT NULL DEFAULT anchorhold.now(),
    lease_until timestamptz NOT NULL,
    phase       text NOT NULL DEFAULT 'created'
        CHECK (phase IN ('created', 'changed', 'done')),
    after       text,
    counts      jsonb NOT NULL DEFAULT '{}',
    failure     text,
    ended_at    timestamptz,
    PRIMARY KEY (account_id, livemode, id),
    FOREIGN KEY (account_id) REFERENCES anchorhold.account,
    CONSTRAINT recovery_ends_done CHECK ((phase = 'done') = (ended_at IS NOT NULL))
);
CREATE UNIQUE INDEX recovery_one_open ON anchorhold.recovery (account_id, livemode)
    WHERE ended_at IS NULL;
COMMENT ON TABLE anchorhold.recovery IS
    'One reading of Stripe after the database may have lost commits; nothing is charged meanwhile.';
"""

NOTICE = """
CREATE UNIQUE INDEX notice_once_without_invoice ON anchorhold.notice
    (account_id, livemode, code, subject) WHERE invoice_id IS NULL;
"""

PARTS = (LINEAGE, CONNECTION, RECOVERY, NOTICE)


def upgrade() -> None:
    """Every mode is whole where it is now."""
    for part in PARTS:
        op.execute(part)

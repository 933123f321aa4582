-- All worlds are over: their rows go.
DO $$
BEGIN
    EXECUTE (SELECT 'TRUNCATE ' || string_agg(c.oid::regclass::text, ', ')
               FROM pg_class c
              WHERE c.relnamespace = 'anchorhold'::regnamespace AND c.relkind = 'r'
                AND c.relname <> 'alembic_version');
END $$

-- Worlds end with their server, so no write of theirs goes to the log. A table can forget only
-- when none that refers to it remembers: those that refer go first.
DO $$
DECLARE
    found regclass;
BEGIN
    LOOP
        SELECT c.oid::regclass INTO found
          FROM pg_class c
         WHERE c.relnamespace = 'anchorhold'::regnamespace AND c.relkind = 'r'
           AND c.relpersistence = 'p'
           AND NOT EXISTS (
               SELECT FROM pg_constraint k
                 JOIN pg_class r ON r.oid = k.conrelid
                WHERE k.confrelid = c.oid AND k.contype = 'f' AND k.conrelid <> c.oid
                  AND r.relpersistence = 'p')
         LIMIT 1;
        EXIT WHEN found IS NULL;
        EXECUTE format('ALTER TABLE %s SET UNLOGGED', found);
    END LOOP;
END $$

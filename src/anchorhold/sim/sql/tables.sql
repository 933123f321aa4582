-- Every table with rows of an account, with its columns.
SELECT c.relname::text,
       array_agg(a.attname::text ORDER BY a.attnum)
           FILTER (WHERE a.attidentity = '' AND a.attgenerated = '')
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE c.relnamespace = 'anchorhold'::regnamespace AND c.relkind = 'r'
 GROUP BY c.oid, c.relname
HAVING bool_or(a.attname = 'account_id')
 ORDER BY c.relname

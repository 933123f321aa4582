-- What the columns of a table are called.
SELECT array_agg(attname::text ORDER BY attnum)
  FROM pg_attribute
 WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped
   AND attidentity = '' AND attgenerated = ''

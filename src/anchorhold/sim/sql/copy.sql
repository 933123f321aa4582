{table}_ AS (
    INSERT INTO anchorhold.{table} ({columns})
    SELECT {values}
      FROM anchorhold.{table}, unnest(%(accounts)s::text[]) AS copies (account)
     WHERE {owner} = %(template)s)

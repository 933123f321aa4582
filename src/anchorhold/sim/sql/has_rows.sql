SELECT EXISTS (SELECT FROM anchorhold.{table} WHERE account_id = %(template)s)

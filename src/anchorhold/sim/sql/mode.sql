-- How this account charges, as its owner chose.
UPDATE anchorhold.account
   SET charge_mode = %(charge_mode)s, sweep_mode = %(sweep_mode)s
 WHERE id = %(account_id)s

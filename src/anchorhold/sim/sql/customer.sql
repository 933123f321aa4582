SELECT customer_id FROM anchorhold.invoice
 WHERE account_id = %(account_id)s AND livemode = %(livemode)s AND id = %(invoice_id)s

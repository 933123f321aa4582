"""SQL: one function, one transaction, one conditional write."""

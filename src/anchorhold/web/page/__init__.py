"""The hosted page: `/pay/{token}`, where a customer sees an invoice and pays it once."""

"""Collections on Stripe and PostgreSQL that never take a second payment and never lose one."""

__version__ = "0.1.0"

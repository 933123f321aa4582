"""Prices, subscriptions and their renewals."""

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Nothing yet."""

"""Dunning policies, runs and steps."""

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Nothing yet."""

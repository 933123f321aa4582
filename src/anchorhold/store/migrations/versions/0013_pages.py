"""Links of the hosted payment page."""

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Nothing yet."""

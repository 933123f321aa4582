"""Reserved for the part of this name; empty until it needs a column."""

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Nothing changes yet."""

"""Reserved for the part of this name; empty until it needs a column."""

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Nothing changes yet."""

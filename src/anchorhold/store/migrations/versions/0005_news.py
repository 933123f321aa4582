"""Reserved for the part of this name; empty until it needs a column."""

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Nothing changes yet."""

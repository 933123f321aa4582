"""Reserved for the part of this name; empty until it needs a column."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Nothing changes yet."""

"""Keys of our API, and the answers that are kept for a repeated request."""

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Nothing yet."""

"""What Stripe told us, kept for as long as it is of use."""

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Nothing yet."""

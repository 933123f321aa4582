"""Ids in Stripe's form, drawn from a seeded generator so that a run can be repeated."""

from random import Random


class Ids:
    """Draws ids and secrets; the same seed gives the same sequence."""

    def __init__(self, seed: int | str) -> None:
        self._random = Random(f"ids:{seed}")  # noqa: S311 - repeatable, not secret

    def new(self, prefix: str) -> str:
        """A new id such as `pi_3…`: the prefix and 24 characters."""
        return f"{prefix}_{self._random.getrandbits(96):024x}"

    def short(self, prefix: str) -> str:
        """A new short id such as a request's `req_…`: the prefix and 14 characters."""
        return f"{prefix}_{self._random.getrandbits(56):014x}"

"""The twin in memory, under the name that the tests use."""

from anchorhold.sim.in_memory import TwinTransport

__all__ = ["TwinTransport"]

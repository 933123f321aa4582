"""How an account charges, and what its sweep may conclude (protocol sections 2 and 6)."""

from enum import StrEnum


class ChargeMode(StrEnum):
    """How money is asked for."""

    PREPARED = "prepared"
    """One PaymentIntent is made before any money can move; a charge confirms it."""
    DIRECT = "direct"
    """Create and confirm in one call."""


class SweepMode(StrEnum):
    """What a sweep does about a direct charge that Stripe does not show."""

    FENCE = "fence"
    """It proves by the idempotency key that the charge never ran."""
    ADR = "adr"
    """It waits, and presumes."""


class AfterPresumedNone(StrEnum):
    """Who goes on after a charge was presumed not to exist."""

    RECHARGE = "recharge"
    OPERATOR = "operator"

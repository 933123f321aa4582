"""How an account charges, and what its sweep may conclude (protocol sections 2 and 6)."""

from dataclasses import dataclass
from enum import StrEnum

from anchorhold.domain.refusals import Code, Refusal


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


class PaymentMethodType(StrEnum):
    """What customers of an account may pay with, in Stripe's words."""

    CARD = "card"
    US_BANK_ACCOUNT = "us_bank_account"
    """ACH: the bank decides in up to four business days."""
    SEPA_DEBIT = "sepa_debit"
    BACS_DEBIT = "bacs_debit"


class AfterPresumedNone(StrEnum):
    """Who goes on after a charge was presumed not to exist."""

    RECHARGE = "recharge"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Modes:
    """What an account chose, together."""

    charge: ChargeMode = ChargeMode.PREPARED
    sweep: SweepMode = SweepMode.FENCE
    after_presumed_none: AfterPresumedNone = AfterPresumedNone.RECHARGE

    def require_sensible(self) -> None:
        """A prepared charge is looked up by its id. Raises Refusal: sweep_mode_needs_direct."""
        if self.charge is ChargeMode.PREPARED and self.sweep is SweepMode.ADR:
            raise Refusal(Code.SWEEP_MODE_NEEDS_DIRECT)

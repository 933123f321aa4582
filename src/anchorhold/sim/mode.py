"""How the account of a world charges: one field of the world, and of every campaign."""

from enum import StrEnum


class Mode(StrEnum):
    """Charge mode and sweep mode of a world's account (protocol sections 2 and 6)."""

    PREPARED = "prepared"
    DIRECT = "direct"
    """Direct, with the fence."""
    ADR = "adr"
    """Direct, as the ADR describes: no fence, it waits and presumes."""

    @property
    def columns(self) -> dict[str, str]:
        """What the account's row says."""
        charge = "prepared" if self is Mode.PREPARED else "direct"
        return {"charge_mode": charge, "sweep_mode": "adr" if self is Mode.ADR else "fence"}

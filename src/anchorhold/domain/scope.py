"""Whose rows a statement may touch."""

from dataclasses import dataclass

from anchorhold.domain.ids import AccountId


@dataclass(frozen=True, slots=True)
class Scope:
    """One account in one mode. Leads every key, so that tenants and modes never mix."""

    account_id: AccountId
    livemode: bool

    @property
    def mode(self) -> str:
        """The mode in a word: `live` or `test`."""
        return "live" if self.livemode else "test"

    @property
    def params(self) -> dict[str, object]:
        """The two parameters that every statement of the store compares."""
        return {"account_id": self.account_id, "livemode": self.livemode}

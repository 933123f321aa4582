"""What happened, seen from Stripe's side: for an auditor who trusts nobody else."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from anchorhold.twin.state import Account
from anchorhold.twin.wire import Obj
from anchorhold.twin.world import Twin


@dataclass(frozen=True, slots=True)
class Payment:
    """One success: an intent whose charge took money. Amounts in Stripe's minor units."""

    account: str
    intent: str
    charge: str
    amount: int
    refunded: int
    currency: str
    created: int
    """Second in which the charge was made."""
    disputed: bool

    @property
    def net(self) -> int:
        """What is left of it after refunds."""
        return self.amount - self.refunded


class Ledger:
    """Reads of a twin: of one account, or of all. Changes nothing, costs no request."""

    def __init__(self, twin: Twin, account: str | None = None) -> None:
        self._twin = twin
        self._account = account

    def _accounts(self) -> list[Account]:
        return [one for one in self._twin.accounts if self._account in {None, one.id}]

    def intents(self) -> list[Obj]:
        """Every PaymentIntent, oldest first."""
        return [intent for one in self._accounts() for intent in one.payment_intents]

    def charges(self) -> list[Obj]:
        """Every charge, failed ones too, oldest first."""
        return [charge for one in self._accounts() for charge in one.charges]

    def refunds(self) -> list[Obj]:
        """Every refund, oldest first."""
        return [refund for one in self._accounts() for refund in one.refunds]

    def payments(self) -> Iterator[tuple[Obj, Payment]]:
        """Every success with its intent, oldest first, refunded ones too."""
        for one in self._accounts():
            for charge in one.charges:
                intent = one.payment_intents.get(charge["payment_intent"])
                if charge["status"] == "succeeded" and intent is not None:
                    yield intent, _payment(one.id, charge)

    def by_metadata(self, key: str = "anchorhold_invoice_id") -> dict[str, list[Payment]]:
        """The successes per value of a metadata key of their intents; without the key: under ""."""
        found: dict[str, list[Payment]] = {}
        for intent, payment in self.payments():
            found.setdefault(intent["metadata"].get(key, ""), []).append(payment)
        return found

    def paid(self, key: str = "anchorhold_invoice_id") -> dict[str, int]:
        """How many successes stand, net of full refunds, per value of a metadata key."""
        return {
            value: sum(payment.net > 0 for payment in payments)
            for value, payments in self.by_metadata(key).items()
        }

    def shown(self, key: str = "anchorhold_invoice_id") -> dict[str, Any]:
        """Intents, charges, refunds and successes per metadata value, as JSON."""
        return {
            "intents": self.intents(),
            "charges": self.charges(),
            "refunds": self.refunds(),
            "by": key,
            "payments": {
                value: [{**asdict(payment), "net": payment.net} for payment in payments]
                for value, payments in self.by_metadata(key).items()
            },
        }


def _payment(account: str, charge: Obj) -> Payment:
    return Payment(
        account=account,
        intent=charge["payment_intent"],
        charge=charge["id"],
        amount=charge["amount_captured"],
        refunded=charge["amount_refunded"],
        currency=charge["currency"],
        created=charge["created"],
        disputed=charge["disputed"],
    )

"""What others do at Stripe: the customer on a page, the merchant in Stripe's dashboard, a proxy.

`Script` stands between the provider and the twin, for answers that the twin cannot be made to give
and for what happens at Stripe while a request is under way.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from anchorhold.domain.ids import InvoiceId
from anchorhold.twin import PUBLISHABLE_KEY, Broken, Request, Response, Twin, acts
from anchorhold.twin.world import ACCOUNT
from tests.engine.rig import Rig
from tests.twin.client import Answered, Client

CONFIRM = "POST /v1/payment_intents/{id}/confirm"
CREATE = "POST /v1/payment_intents"
CANCEL = "POST /v1/payment_intents/{id}/cancel"
RETRIEVE = "GET /v1/payment_intents/{id}"
LIST = "GET /v1/payment_intents"
EVENTS = "GET /v1/events"
CUSTOMERS = "POST /v1/customers"
CUSTOMER = "GET /v1/customers/{id}"
ATTACH = "POST /v1/payment_methods/{id}/attach"
ACCOUNT_ITSELF = "GET /v1/account"
PATHS = {
    endpoint: re.escape(endpoint).replace(re.escape("{id}"), "[^/]+")
    for endpoint in (
        CONFIRM,
        CREATE,
        CANCEL,
        RETRIEVE,
        LIST,
        EVENTS,
        CUSTOMERS,
        CUSTOMER,
        ATTACH,
        ACCOUNT_ITSELF,
    )
}

Turn = Callable[[Request], Response | Broken | None]
"""Answers a request itself, or does something and lets it pass (None)."""


@dataclass
class Script:
    """The twin with somebody in between; each turn is taken once, at a call of its endpoint."""

    twin: Twin
    turns: list[tuple[str, Turn]] = field(default_factory=list)

    def send(self, request: Request) -> Response | Broken:
        """The answer of the turn whose path this is, else the twin's."""
        for at, (endpoint, turn) in enumerate(self.turns):
            if _fits(endpoint, request):
                del self.turns[at]
                return turn(request) or self.twin.send(request)
        return self.twin.send(request)


def refusal(status: int, **error: object) -> Turn:
    """An error object of Stripe's."""
    return lambda _request: Response(
        status, {"Content-Type": "application/json"}, json.dumps({"error": error}).encode()
    )


def shows(body: Mapping[str, Any]) -> Turn:
    """A 200 with this object."""
    return lambda _request: Response(
        200, {"Content-Type": "application/json"}, json.dumps(body).encode()
    )


def unreadable(status: int = 200) -> Turn:
    """What a proxy answers."""
    return lambda _request: Response(status, {"Content-Type": "text/html"}, b"<html>")


def meanwhile(act: Callable[[], object]) -> Turn:
    """Something happens before the request is carried out."""

    def turn(_request: Request) -> None:
        act()

    return turn


def between(rig: Rig, *turns: tuple[str, Turn]) -> Script:
    """The rig's provider sends through a script from now on."""
    script = Script(rig.twin, list(turns))
    rig.transport.send_to(script)
    return script


def sent_by(rig: Rig, endpoint: str) -> list[Request]:
    """Every request to this endpoint from now on, as it was sent."""
    sent: list[Request] = []
    rig.transport.listeners.append(
        lambda request: _fits(endpoint, request) and sent.append(request)
    )
    return sent


def _fits(endpoint: str, request: Request) -> bool:
    return bool(re.fullmatch(PATHS[endpoint], f"{request.method} {request.path}"))


class AtStripe:
    """Looks and acts at the twin without faults, as the merchant and as the customer."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.account = rig.twin.account(ACCOUNT)

    def client(self, key: str | None = None) -> Client:
        """A client whose requests meet no fault."""
        return _NoFaults(self.rig.twin, *([key] if key else []))

    def intent(self, invoice: InvoiceId) -> dict[str, Any]:
        """The invoice's newest intent."""
        mine = [
            intent
            for intent in self.account.payment_intents
            if intent["metadata"].get("anchorhold_invoice_id") == invoice
        ]
        return dict(mine[-1])

    def intents(self, invoice: InvoiceId) -> list[str]:
        """The statuses of all of the invoice's intents, oldest first."""
        return [
            intent["status"]
            for intent in self.account.payment_intents
            if intent["metadata"].get("anchorhold_invoice_id") == invoice
        ]

    def charges(self, invoice: InvoiceId) -> list[str]:
        """The statuses of the invoice's charges, oldest first."""
        ids = {
            intent["id"]
            for intent in self.account.payment_intents
            if intent["metadata"].get("anchorhold_invoice_id") == invoice
        }
        return [c["status"] for c in self.account.charges if c["payment_intent"] in ids]

    def page_confirms(self, invoice: InvoiceId, method: str = "pm_card_visa") -> Answered:
        """The customer pays on a page with the client secret, or tries to."""
        intent = self.intent(invoice)
        return self.client(PUBLISHABLE_KEY).post(
            f"/v1/payment_intents/{intent['id']}/confirm",
            client_secret=intent["client_secret"],
            payment_method=method,
            return_url="https://example.com/back",
        )

    def page_debits(self, invoice: InvoiceId, method: str) -> Answered:
        """The customer agrees to a bank debit."""
        intent = self.intent(invoice)
        self.allow_debits(invoice)
        return self.client().post(
            f"/v1/payment_intents/{intent['id']}/confirm",
            payment_method=method,
            mandate_data={"customer_acceptance": {"type": "offline"}},
        )

    def allow_debits(self, invoice: InvoiceId) -> None:
        """The intent takes bank debits too."""
        self.client().done(
            f"/v1/payment_intents/{self.intent(invoice)['id']}",
            allowed_payment_method_types=["card", "sepa_debit"],
        )

    def refund(self, invoice: InvoiceId, amount: int | None = None) -> None:
        """The merchant gives money back in Stripe's dashboard; all of it unless told otherwise."""
        charge = self.intent(invoice)["latest_charge"]
        part: dict[str, Any] = {} if amount is None else {"amount": amount}
        self.client().done("/v1/refunds", charge=charge, **part)

    def cancel(self, invoice: InvoiceId) -> None:
        """The merchant cancels the intent in Stripe's dashboard."""
        self.client().done(f"/v1/payment_intents/{self.intent(invoice)['id']}/cancel")


def allow_mandates(rig: Rig) -> None:
    """Every payment method may be debited."""
    for hidden in rig.twin.account(ACCOUNT).hidden.values():
        hidden.mandated = True


def end_debits(rig: Rig) -> None:
    """The banks speak now."""
    for intent in list(rig.twin.account(ACCOUNT).payment_intents):
        acts.end_debit(rig.twin, intent["id"])


class _NoFaults(Client):
    """Past the fault rules, and judged by nobody: the twin's own tests do that."""

    @override
    def ask(
        self,
        method: str,
        path: str,
        params: dict[str, Any] | None = None,
        *,
        idem: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answered:
        """One request that must be answered."""
        answer = self.send(method, path, params, idem=idem, headers=headers)
        assert isinstance(answer, Response), answer
        return Answered(answer.status, answer.json(), dict(answer.headers))

    @override
    def send(self, *args: Any, **kwargs: Any) -> Response | Broken:
        """One request past the fault rules."""
        faults, self.twin.faults = self.twin.faults, type(self.twin.faults)()
        try:
            return super().send(*args, **kwargs)
        finally:
            self.twin.faults = faults

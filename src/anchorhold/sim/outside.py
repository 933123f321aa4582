"""What others do to a world: the customer on a page, banks, the merchant, an operator with SQL."""

from typing import Any
from urllib.parse import urlencode

from anchorhold.domain.ids import InvoiceId
from anchorhold.sim.world import World
from anchorhold.twin import PUBLISHABLE_KEY, Request, Response, acts
from anchorhold.twin.errors import StripeError
from anchorhold.twin.faults import Faults
from anchorhold.twin.instruments import BY_LITERAL
from anchorhold.twin.keyring import KeyState
from anchorhold.twin.world import SECRET_KEY


def ask(world: World, method: str, path: str, key: str = SECRET_KEY, **form: Any) -> str:
    """One request past the fault rules; its answer in a word."""
    headers = {"authorization": f"Bearer {key}"}
    faults, world.twin.faults = world.twin.faults, Faults()
    try:
        answer = world.twin.send(Request(method, path, headers, "", urlencode(form).encode()))
    finally:
        world.twin.faults = faults
    assert isinstance(answer, Response)
    error = answer.json().get("error")
    return str(error.get("code") or error.get("type")) if error else "done"


def intents_of(world: World, invoice: InvoiceId) -> list[dict[str, Any]]:
    """The invoice's intents at Stripe, oldest first."""
    return [
        dict(intent)
        for intent in world.twin.accounts[0].payment_intents
        if intent["metadata"].get("anchorhold_invoice_id") == invoice
    ]


def pays_on_page(world: World, invoice: InvoiceId, method: str) -> None:
    """The customer pays, or tries to, with each secret that a page has ever handed out."""
    for owner, intent, secret in world.secrets:
        if owner == invoice:
            said = ask(
                world,
                "POST",
                f"/v1/payment_intents/{intent}/confirm",
                PUBLISHABLE_KEY,
                client_secret=secret,
                payment_method=method,
                return_url="https://example.com/back",
            )
            world.tell("customer", f"tries {method} on the page: {said}")


def agrees_to_debit(world: World, invoice: InvoiceId, method: str) -> None:
    """The customer agrees to a bank debit on a page that was given the secret."""
    for owner, intent, _ in world.secrets:
        if owner == invoice:
            said = ask(
                world,
                "POST",
                f"/v1/payment_intents/{intent}/confirm",
                payment_method=method,
                **{"mandate_data[customer_acceptance][type]": "offline"},
            )
            world.tell("customer", f"agrees to the debit {method} on the page: {said}")


def comes_back(world: World, invoice: InvoiceId, *, passed: bool) -> None:
    """The customer comes back from the bank's page."""
    for intent in intents_of(world, invoice):
        if intent["status"] == "requires_action":
            acts.authenticate(world.twin, intent["id"], passed=passed)
            world.tell("customer", f"comes back from the bank, passed: {passed}")


def banks_speak(world: World) -> None:
    """Every debit under way ends."""
    for intent in list(world.twin.accounts[0].payment_intents):
        if intent["status"] == "processing":
            try:
                ended = acts.end_debit(world.twin, intent["id"])
            except StripeError:  # a debit that is not under way any more
                continue
            world.tell("bank", f"ends the debit: {ended['status']}")


def card_becomes(world: World, method: str) -> None:
    """Every card of the customers behaves as this one from now on."""
    for hidden in world.twin.accounts[0].hidden.values():
        if hidden.instrument.type == "card":
            hidden.instrument = BY_LITERAL[method]
    world.tell("bank", f"cards are now like {method}")


def allow_mandates(world: World) -> None:
    """Every bank account may be debited."""
    for hidden in world.twin.accounts[0].hidden.values():
        hidden.mandated = True


def merchant_cancels(world: World, invoice: InvoiceId) -> None:
    """The merchant cancels the newest intent in Stripe's dashboard."""
    for intent in intents_of(world, invoice)[-1:]:
        said = ask(world, "POST", f"/v1/payment_intents/{intent['id']}/cancel")
        world.tell("merchant", f"cancels the intent at Stripe: {said}")


def merchant_refunds(world: World, invoice: InvoiceId) -> None:
    """The merchant gives the money back in Stripe's dashboard."""
    for intent in intents_of(world, invoice):
        if intent["status"] == "succeeded":
            said = ask(world, "POST", "/v1/refunds", charge=intent["latest_charge"])
            world.tell("merchant", f"refunds at Stripe: {said}")


def customer_is_deleted(world: World) -> None:
    """The merchant deletes a customer at Stripe."""
    alive = [one for one in world.twin.accounts[0].customers if not one.get("deleted")]
    for customer in alive[:1]:
        said = ask(world, "DELETE", f"/v1/customers/{customer['id']}")
        world.tell("merchant", f"deletes the customer at Stripe: {said}")


def key_state(world: World, state: KeyState) -> None:
    """Stripe accepts the secret key, or it does not."""
    world.twin.add_key(SECRET_KEY, state=state, denied=world.denied)
    world.tell("Stripe", f"the secret key is {state.value}")


def unreadable(world: World, *, now: bool) -> None:
    """The secret key cannot be opened here, or it can again."""
    world.connected = not now
    world.tell("operator", f"the secret key can be read: {not now}")


def method_is_detached(world: World) -> None:
    """The merchant takes a customer's payment method away at Stripe."""
    for method in list(world.twin.accounts[0].payment_methods)[:1]:
        said = ask(world, "POST", f"/v1/payment_methods/{method['id']}/detach")
        world.tell("merchant", f"detaches the payment method at Stripe: {said}")


def disputed(world: World, invoice: InvoiceId, reason: str) -> None:
    """The customer disputes a charge, or asks about it."""
    for intent in intents_of(world, invoice):
        if intent["status"] == "succeeded":
            acts.open_dispute(world.twin, intent["latest_charge"], reason=reason)
            world.tell("customer", f"disputes the charge: {reason}")


def dispute_ends(world: World, *, won: bool) -> None:
    """The bank decides every dispute."""
    for dispute in list(world.twin.accounts[0].disputes):
        if dispute["status"].endswith("needs_response"):
            acts.close_dispute(world.twin, dispute["id"], won=won)
            world.tell("bank", f"decides the dispute, won: {won}")


def stripe_catches_up(world: World) -> None:
    """Stripe carries out what it had put off."""
    if done := world.twin.run_late():
        world.tell("Stripe", f"carries out {done} late requests")

"""A tiny client for the twin in memory, with the words that tests use.

Every answer is judged by Stripe's OpenAPI document, and so is every request that the twin took.
"""

from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode

from anchorhold.twin import SECRET_KEY, Broken, Request, Response, Twin
from tests.openapi import validate_request, validate_response


def flat(params: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Parameters as Stripe's clients encode them."""
    fields: list[tuple[str, str]] = []
    for name, value in params.items():
        full = f"{prefix}[{name}]" if prefix else name
        if isinstance(value, dict):
            fields += flat(value, full)
        elif isinstance(value, list):
            fields += flat({str(at): item for at, item in enumerate(value)}, full)
        elif isinstance(value, bool):
            fields.append((full, "true" if value else "false"))
        else:
            fields.append((full, str(value)))
    return fields


@dataclass(frozen=True)
class Answered:
    """An answer, read."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def error(self) -> dict[str, Any]:
        """The error object; KeyError when it is a success."""
        error: dict[str, Any] = self.body["error"]
        return error

    @property
    def code(self) -> str | None:
        """The code of the error; None when it is a success or has none."""
        code: str | None = self.body.get("error", {}).get("code")
        return code

    @classmethod
    def of(cls, sent: Response | Broken) -> Self:
        """A whole answer, read; AssertionError when the connection broke."""
        assert isinstance(sent, Response), sent
        return cls(sent.status, sent.json(), dict(sent.headers))


class Client:
    """Sends to one twin under one API key."""

    def __init__(self, twin: Twin, key: str = SECRET_KEY) -> None:
        self.twin = twin
        self.key = key

    def send(
        self,
        method: str,
        path: str,
        params: dict[str, Any] | None = None,
        *,
        idem: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response | Broken:
        """One request, faults and all."""
        form = urlencode(flat(params or {}))
        sent = {"authorization": f"Bearer {self.key}", **(headers or {})}
        if idem is not None:
            sent["idempotency-key"] = idem
        query, body = ("", form.encode()) if method == "POST" else (form, b"")
        return self.twin.send(Request(method, path, sent, query, body))

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
        answer = Answered.of(self.send(method, path, params, idem=idem, headers=headers))
        validate_response(method, path, answer.status, answer.body)
        if answer.status == 200:
            validate_request(method, path, urlencode(flat(params or {})))
        return answer

    def post(self, path: str, idem: str | None = None, **params: Any) -> Answered:
        """POST, the parameters as keywords."""
        return self.ask("POST", path, params, idem=idem)

    def get(self, path: str, **params: Any) -> Answered:
        """GET, the parameters as keywords."""
        return self.ask("GET", path, params)

    def done(self, path: str, idem: str | None = None, **params: Any) -> dict[str, Any]:
        """The object that a POST gives; it must succeed."""
        answer = self.post(path, idem, **params)
        assert answer.status == 200, answer.body
        return answer.body

    def customer(self, method: str | None = None, **params: Any) -> dict[str, Any]:
        """A new customer, with a payment method attached if one is named."""
        customer = self.done("/v1/customers", **params)
        if method is not None:
            attached = self.done(f"/v1/payment_methods/{method}/attach", customer=customer["id"])
            customer = {**customer, "method": attached["id"]}
        return customer

    def intent(self, **params: Any) -> dict[str, Any]:
        """A new PaymentIntent over 10.00 USD unless told otherwise."""
        wanted: dict[str, Any] = {"amount": 1000, "currency": "usd", **params}
        return self.done("/v1/payment_intents", **wanted)

    def confirm(self, intent: str, idem: str | None = None, **params: Any) -> Answered:
        """An off-session confirm."""
        path = f"/v1/payment_intents/{intent}/confirm"
        return self.post(path, idem, **{"off_session": True, **params})

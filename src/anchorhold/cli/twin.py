"""`anchorhold twin`: a Stripe on a local port."""

import errno
import socket
from typing import Annotated, Final

import typer

from anchorhold.cli.call import Call, lone, verb
from anchorhold.domain.refusals import Code, Refusal
from anchorhold.entropy import random_bytes
from anchorhold.twin import Rule, Settings, rule_from_text
from anchorhold.twin.keyring import VERSION
from anchorhold.twin.server import run

app = lone()

DEFAULT_VERSION: Final = "2026-08-26.dahlia"
"""The newest that still takes `payment_method_types`, which `stripe trigger` sends."""


@verb(
    app,
    "twin",
    "anchorhold twin --port 8430",
    "anchorhold twin --fault 'dropped_after 2% POST /v1/payment_intents*' --seed 7",
    scoped=False,
)
async def twin(
    call: Call,
    *,
    host: Annotated[str, typer.Option("--host", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="The port; 0 is any free one.")
    ] = 8430,
    seed: Annotated[
        str | None, typer.Option("--seed", help="The same seed, the same ids; else new ones.")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="RULE", help="Kind, when, endpoint; more than once."),
    ] = None,
    api_version: Annotated[
        str, typer.Option("--api-version", help="Of requests that name none, and of events.")
    ] = DEFAULT_VERSION,
) -> None:
    """Be a Stripe on a local port: in memory, strict like Stripe, with faults if you like.

    Customers, payment methods, PaymentIntents, charges, refunds, disputes, events and webhook
    endpoints as Stripe has them, and the test cards and test bank accounts. A fault rule says what
    goes wrong (dropped_before, dropped_after, cut, error_500_with_effect, late:30, rate_limit,
    slow:2 …), when (2% or #1,#4) and where. What it did is at /_twin/. It forgets everything when
    it stops.
    """
    del call
    rules = [fault_rule(text) for text in fault or []]
    settings = Settings(api_version=known_version(api_version))
    try:
        await run(host, port, seed or new_seed(), rules, settings=settings)
    except OSError as error:
        raise _cannot_listen(error, f"{host}:{port}") or error from error


def _cannot_listen(error: OSError, listen: str) -> Refusal | None:
    """Why the twin cannot listen there, or None when the error is about something else."""
    if error.errno == errno.EADDRINUSE:
        return Refusal(Code.TWIN_PORT_TAKEN, listen=listen)
    named = {errno.EADDRNOTAVAIL: "--host", errno.EACCES: "--port"}.get(error.errno or 0)
    option = "--host" if isinstance(error, socket.gaierror) else named
    reason = error.strerror or str(error)
    return Refusal(Code.SETTINGS_INVALID, name=option, reason=reason) if option else None


def new_seed() -> str:
    """A seed that no twin had: its ids and its account are nobody else's."""
    return random_bytes(4).hex()


def known_version(text: str) -> str:
    """An API version, as Stripe writes them. Refuses: SETTINGS_INVALID."""
    if VERSION.fullmatch(text):
        return text
    reason = f"{text!r} is no API version such as {DEFAULT_VERSION}"
    raise Refusal(Code.SETTINGS_INVALID, name="--api-version", reason=reason)


def fault_rule(text: str) -> Rule:
    """The rule that the text is. Refuses: FAULT_RULE_INVALID."""
    try:
        return rule_from_text(text)
    except ValueError as error:
        raise Refusal(Code.FAULT_RULE_INVALID, text=text, reason=error) from error

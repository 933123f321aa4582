"""The providers of all accounts and modes of a process, made from the rows that hold their keys."""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from anchorhold import crypto
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Connected, Log
from anchorhold.store import accounts
from anchorhold.store.accounts import Connection, NewConnection
from anchorhold.store.db import Db
from anchorhold.stripe.api import Observe, StripeProvider
from anchorhold.stripe.breaker import Breaker
from anchorhold.stripe.limiter import Limiter
from anchorhold.stripe.transport import Transport

FRESH_S: Final = 3.0
"""How long a connection's row is believed, so that a charge costs no round trip for it."""


@dataclass(frozen=True, slots=True)
class Wires:
    """What all calls of a process share: connections, breaker and rate limit."""

    transport: Transport
    breaker: Breaker
    limiter: Limiter
    base: str
    observe: Observe = lambda *_: None

    def provider(self, secret_key: str) -> StripeProvider:
        """The provider that this Stripe key reaches."""
        return StripeProvider(
            secret_key,
            self.transport,
            breaker=self.breaker,
            limiter=self.limiter,
            base=self.base,
            observe=self.observe,
        )


@dataclass(slots=True)
class _Known:
    """What was read of one mode, and when (monotonic)."""

    read_at: float = float("-inf")
    connected: Connected | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class StripeProviders:
    """`engine.deps.Providers` over Stripe; `key` opens the secrets in the database."""

    def __init__(self, db: Db, key: bytes, wires: Wires, log: Log) -> None:
        self._db = db
        self._key = key
        self._wires = wires
        self._log = log
        self._known: defaultdict[Scope, _Known] = defaultdict(_Known)

    async def of(self, scope: Scope) -> Connected | None:
        """The mode's provider, None when it was never connected or its key cannot be opened.

        Another key is used at most `FRESH_S` seconds after it was put in, at once after `forget`.
        """
        known = self._known[scope]
        async with known.lock:
            if self._db.monotonic() - known.read_at >= FRESH_S:
                row = await accounts.connection(self._db, scope)
                known.connected = self._connected(scope, row, known.connected)
                known.read_at = self._db.monotonic()
            return known.connected

    def forget(self, scope: Scope) -> None:
        """The row is read again the next time."""
        self._known[scope].read_at = float("-inf")

    def _connected(
        self, scope: Scope, row: Connection | None, before: Connected | None
    ) -> Connected | None:
        if row is None:
            return None
        facts = (row.stripe_account, row.key_fingerprint, row.charge_mode)
        same = before is not None and facts == (
            before.stripe_account,
            before.key_fingerprint,
            before.charge_mode,
        )
        return before if same else self._make(scope, row)

    def _make(self, scope: Scope, row: Connection) -> Connected | None:
        try:
            secret = crypto.unseal(self._key, row.secret_key, *place_of_key(scope))
        except crypto.UnsealError as error:
            self._log.error(
                "account.key_unreadable",
                account=scope.account_id,
                livemode=scope.livemode,
                reason=str(error),
            )
            return None
        return Connected(
            self._wires.provider(secret), row.stripe_account, row.key_fingerprint, row.charge_mode
        )


def place_of_key(scope: Scope) -> tuple[str, ...]:
    """Where the secret key of a mode is stored; its ciphertext opens nowhere else."""
    return ("connection", "secret_key", scope.account_id, scope.mode)


def new_connection(
    key: bytes,
    scope: Scope,
    secret: str,
    stripe_account: str,
    payment_method_types: tuple[str, ...] | None = None,
) -> NewConnection:
    """What `store.accounts.connect` stores of a Stripe key: sealed with `key`, for this mode."""
    return NewConnection(
        stripe_account=stripe_account,
        secret_key=crypto.seal(key, secret, *place_of_key(scope)),
        key_last4=secret[-4:],
        key_fingerprint=crypto.fingerprint(secret),
        payment_method_types=payment_method_types,
    )

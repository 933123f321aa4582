"""The opened signing secrets of the accounts of a process, read again every few seconds."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from anchorhold import crypto
from anchorhold.domain.ids import AccountId
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Log
from anchorhold.engine.intake import Key
from anchorhold.store import signing_secrets
from anchorhold.store.db import Db
from anchorhold.store.signing_secrets import SigningSecret

FRESH_S: Final = 5.0
NAMES: Final = 1000
"""So many accounts are remembered: strangers may ask for as many names as they like."""


@dataclass(frozen=True, slots=True)
class Keys:
    """An account's id, None when there is no such account, and the secrets that sign for it."""

    account: AccountId | None
    keys: tuple[Key, ...]
    read_at: float


class SigningKeys:
    """`key` opens the secrets in the database."""

    def __init__(self, db: Db, key: bytes, log: Log) -> None:
        self._db = db
        self._key = key
        self._log = log
        self._known: OrderedDict[str, Keys] = OrderedDict()

    async def of(self, account: str) -> Keys:
        """The secrets of the account of this id or name, at most `FRESH_S` seconds old."""
        if len(account) > 100 or not account.isprintable():
            return Keys(None, (), self._db.monotonic())
        known = self._known.get(account)
        if known is None or self._db.monotonic() - known.read_at >= FRESH_S:
            known = await self._read(account)
            self._known[account] = known
            if len(self._known) > NAMES:
                self._known.popitem(last=False)
        return known

    async def _read(self, account: str) -> Keys:
        at = self._db.monotonic()
        found = await signing_secrets.active(self._db, account)
        if found is None:
            return Keys(None, (), at)
        account_id, rows = found
        opened = (self._open(account_id, row) for row in rows)
        return Keys(account_id, tuple(key for key in opened if key), at)

    def _open(self, account: AccountId, row: SigningSecret) -> Key | None:
        place = place_of_signing_secret(Scope(account, row.livemode), row.id)
        try:
            secret = crypto.unseal(self._key, row.secret, *place)
        except crypto.UnsealError as error:
            self._log.error("signing_secret.unreadable", account=account, reason=str(error))
            return None
        return Key(row.id, secret, row.livemode, row.stripe_account)


def place_of_signing_secret(scope: Scope, secret_id: str) -> tuple[str, ...]:
    """Where a signing secret is stored; its ciphertext opens nowhere else."""
    return ("signing_secret", "secret", scope.account_id, scope.mode, secret_id)

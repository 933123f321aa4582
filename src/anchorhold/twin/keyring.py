"""API keys: whose they are and what they may do.

Sources: https://docs.stripe.com/keys, .../error-codes (401 and 403).
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from anchorhold.twin.errors import forbidden, invalid, unauthorized
from anchorhold.twin.state import Account
from anchorhold.twin.wire import Request

VERSION = re.compile(r"20\d\d-\d\d-\d\d(\.[a-z_]+)?(;.*)?")
"""How an API version is written."""


class KeyState(Enum):
    """What Stripe thinks of a key."""

    VALID = "valid"
    EXPIRED = "expired"
    """Rolled: 401 `api_key_expired`."""
    REVOKED = "revoked"
    """Deleted, as if it had never been: 401 without a code."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key. `denied` are endpoint patterns it may not use, as `POST /v1/refunds` or `GET *`."""

    secret: str
    account: Account
    state: KeyState = KeyState.VALID
    denied: tuple[str, ...] = ()

    @property
    def publishable(self) -> bool:
        """Whether it is the key that browsers hold."""
        return self.secret.startswith("pk_")


class Keyring:
    """Every key that the twin knows."""

    def __init__(self, accounts: Sequence[Account]) -> None:
        self._accounts = accounts
        self._keys: dict[str, ApiKey] = {}

    def add(self, key: ApiKey) -> ApiKey:
        """Register a key, or replace what is known of it."""
        self._keys[key.secret] = key
        return key

    def all(self) -> list[ApiKey]:
        """Every key, in order of registration."""
        return list(self._keys.values())

    def get(self, secret: str) -> ApiKey | None:
        """The key with this secret."""
        return self._keys.get(secret)

    def admit(self, request: Request) -> ApiKey:
        """The key that the request carries; 401 when there is none that counts."""
        secret = _secret_of(request)
        if not secret:
            raise unauthorized(
                "You did not provide an API key. You need to provide your API key in the "
                "Authorization header, using Bearer auth (e.g. 'Authorization: Bearer "
                "YOUR_SECRET_KEY')."
            )
        key = self._keys.get(secret)
        if key is None or key.state is KeyState.REVOKED:
            raise unauthorized(f"Invalid API Key provided: {masked(secret)}")
        if key.state is KeyState.EXPIRED:
            raise unauthorized(f"Expired API Key provided: {masked(secret)}", "api_key_expired")
        other = request.header("stripe-account")
        if other is None or other == key.account.id:
            return key
        connected = self._connected(key.account, other)
        if connected is None:
            raise forbidden(
                f"The provided key '{masked(secret)}' does not have access to account '{other}' "
                "(or that account does not exist). Application access may have been revoked.",
                "account_invalid",
            )
        return replace(key, account=connected)

    def _connected(self, platform: Account, id_: str) -> Account | None:
        for account in self._accounts:
            mine = account.platform == platform.id and account.livemode == platform.livemode
            if mine and account.id == id_:
                return account
        return None


def may_use(key: ApiKey, method: str, template: str, *, browser: bool) -> None:
    """Nothing, or 401 for a publishable key off its few endpoints, or 403 for a restricted one."""
    if key.publishable and not browser:
        raise unauthorized(
            "This API call cannot be made with a publishable API key. Please use a secret API "
            "key. You can find a list of your API keys at "
            "https://dashboard.stripe.com/account/apikeys.",
            "secret_key_required",
        )
    if any(matches(pattern, method, template) for pattern in key.denied):
        noun = template.split("/")[2]
        right = f"rak_{noun.rstrip('s')}_{'read' if method == 'GET' else 'write'}"
        raise forbidden(
            f"The provided key '{masked(key.secret)}' does not have the required permissions for "
            f"this endpoint on account '{key.account.id}'. Having the '{right}' permission would "
            "allow this request to continue."
        )


def matches(pattern: str, method: str, template: str) -> bool:
    """Whether an endpoint pattern covers this endpoint.

    `*` covers all, `POST *` all of a method, `POST /v1/refunds` one template, and a template that
    ends in `*` all that begin so.
    """
    if pattern == "*":
        return True
    verb, _, path = pattern.partition(" ")
    if verb not in {"*", method}:
        return False
    return path == template or (path.endswith("*") and template.startswith(path[:-1]))


def version_of(request: Request, account: Account) -> str:
    """The API version to answer in: the header's or the account's own; 400 for one that is none."""
    version = request.header("stripe-version")
    if version is None:
        return account.api_version
    if not VERSION.fullmatch(version):
        raise invalid(f"Invalid Stripe API version: {version}")
    return version


def masked(secret: str) -> str:
    """The key as Stripe shows it in a sentence: its first letters and its last four."""
    return f"{secret[:8]}{'*' * max(4, len(secret) - 12)}{secret[-4:]}"


def _secret_of(request: Request) -> str:
    scheme, _, value = (request.header("authorization") or "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(value.strip(), validate=True).decode().partition(":")[0]
    except (NotBase64, UnicodeDecodeError):
        return ""

"""Links of the hosted page: a token that names one link and that nobody can make up.

The token is the link's place (account, mode, id) and a keyed hash over it: a stranger's guess is
told apart without a look at the database, the token of a link can be written again at any time,
and no table holds it.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from anchorhold.domain.ids import ACCOUNT, PAGE_LINK, AccountId, IdKind, IdT, PageLinkId, make
from anchorhold.domain.scope import Scope

LASTS_S: Final = 30 * 86_400
"""How long a link opens its page, if nothing else is asked for."""
LASTS_MAX_S: Final = 400 * 86_400
_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ID_BYTES: Final = 16
_PLACE_BYTES: Final = 1 + 2 * _ID_BYTES
_TOKEN_BYTES: Final = _PLACE_BYTES + hashlib.sha256().digest_size
_TOKEN_LENGTH: Final = -(-_TOKEN_BYTES * 4 // 3)
_LIVE: Final = {b"\x10": False, b"\x11": True}
"""The first byte: which key and form made the token (1), and the mode."""
_PURPOSE: Final = b"anchorhold: links of the hosted page, form 1"


class Locale(StrEnum):
    """The languages of the page."""

    EN = "en"
    DE = "de"
    FR = "fr"
    ES = "es"


class LinkState(StrEnum):
    """What a link is good for now."""

    OPEN = "open"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a link stands."""

    scope: Scope
    link_id: PageLinkId


def token_of(secret_key: bytes, place: Place) -> str:
    """The link's token: 87 letters of a URL, 256 bits of which cannot be guessed."""
    first = b"\x11" if place.scope.livemode else b"\x10"
    named = first + _bytes(place.scope.account_id) + _bytes(place.link_id)
    sealed = named + _mac(secret_key, named)
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def read_token(secret_key: bytes, token: str) -> Place | None:
    """Where the link of this token stands; None for everything that `token_of` never wrote."""
    if len(token) != _TOKEN_LENGTH or not token.isascii():
        return None
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return None
    named, mac = sealed[:_PLACE_BYTES], sealed[_PLACE_BYTES:]
    if not hmac.compare_digest(mac, _mac(secret_key, named)):
        return None
    scope = Scope(AccountId(_id(ACCOUNT, named[1 : 1 + _ID_BYTES])), _LIVE[named[:1]])
    return Place(scope, _id(PAGE_LINK, named[1 + _ID_BYTES :]))


def _mac(secret_key: bytes, named: bytes) -> bytes:
    own = hmac.digest(secret_key, _PURPOSE, "sha256")
    return hmac.digest(own, named, "sha256")


def _bytes(id_: str) -> bytes:
    """The 128 bits behind an id's prefix."""
    number = 0
    for letter in id_.partition("_")[2]:
        number = number << 5 | _ALPHABET.index(letter)
    return number.to_bytes(_ID_BYTES)


def _id(kind: IdKind[IdT], data: bytes) -> IdT:
    return make(kind, int.from_bytes(data[:6]), data[6:])

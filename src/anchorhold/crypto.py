"""Secrets at rest: AES-GCM, each ciphertext bound to the one place where it may stand.

A ciphertext begins with a version byte, so that keys and ciphers can be changed later without
guessing. Nonces are random: 96 bits are enough for billions of secrets under one key.
"""

import hashlib
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from anchorhold.entropy import random_bytes

VERSION: Final = 1
NONCE_BYTES: Final = 12
FINGERPRINT_BYTES: Final = 8
_FINGERPRINT_KEY: Final = b"anchorhold: fingerprint of a secret"


class UnsealError(Exception):
    """A ciphertext cannot be read: another key, another place, or it was changed."""


def seal(key: bytes, plaintext: str, *place: str) -> bytes:
    """The plaintext under `key` (32 bytes), readable only with the same key and `place`.

    `place` is where it will be stored: table, column, and the row's key.
    """
    nonce = random_bytes(NONCE_BYTES)
    version = bytes([VERSION])
    body = AESGCM(key).encrypt(nonce, plaintext.encode(), version + _bound(place))
    return version + nonce + body


def unseal(key: bytes, sealed: bytes, *place: str) -> str:
    """What `seal` was given. Raises UnsealError for every other key, place or content."""
    version, nonce, body = sealed[:1], sealed[1 : 1 + NONCE_BYTES], sealed[1 + NONCE_BYTES :]
    if version != bytes([VERSION]) or len(nonce) != NONCE_BYTES:
        raise UnsealError("it was not made by this version")
    try:
        return AESGCM(key).decrypt(nonce, body, version + _bound(place)).decode()
    except InvalidTag:
        raise UnsealError("another key or another place, or it was changed") from None


def fingerprint(secret: str) -> str:
    """A short name for a secret: the same for the same, and it does not give the secret away.

    Only for secrets that nobody can guess, such as Stripe keys.
    """
    digest = hashlib.blake2b(secret.encode(), key=_FINGERPRINT_KEY, digest_size=FINGERPRINT_BYTES)
    return digest.hexdigest()


def _bound(place: tuple[str, ...]) -> bytes:
    """The parts with their lengths, so that no two places give the same bytes."""
    parts = [part.encode() for part in place]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

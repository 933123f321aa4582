"""Ids: a prefix that says what the thing is, then 26 characters that sort by time.

The 26 characters are those of a ULID: 48 bits of milliseconds since 1970 and 80 random bits in
Crockford's base 32. Clock and random bytes come from `anchorhold.entropy`; here all is pure.
What must come out the same again, after a crash or a lost commit too, is derived by a hash.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, NewType, TypeVar

from anchorhold.domain.refusals import Code, Refusal

AccountId = NewType("AccountId", str)
CustomerId = NewType("CustomerId", str)
InvoiceId = NewType("InvoiceId", str)
AttemptId = NewType("AttemptId", str)
PaymentId = NewType("PaymentId", str)
EventId = NewType("EventId", str)
NoticeId = NewType("NoticeId", str)
RequestId = NewType("RequestId", str)
RefundId = NewType("RefundId", str)
EndpointId = NewType("EndpointId", str)
MessageId = NewType("MessageId", str)
DeliveryId = NewType("DeliveryId", str)
EventDeliveryId = NewType("EventDeliveryId", str)
SigningSecretId = NewType("SigningSecretId", str)
PageLinkId = NewType("PageLinkId", str)
RecoveryId = NewType("RecoveryId", str)
CreditId = NewType("CreditId", str)
DunningPolicyId = NewType("DunningPolicyId", str)
DunningRunId = NewType("DunningRunId", str)
PriceId = NewType("PriceId", str)
SubscriptionId = NewType("SubscriptionId", str)
KeyId = NewType("KeyId", str)

StripeAccountId = NewType("StripeAccountId", str)
StripeCustomerId = NewType("StripeCustomerId", str)
PaymentMethodId = NewType("PaymentMethodId", str)
IntentId = NewType("IntentId", str)
ChargeId = NewType("ChargeId", str)
StripeEventId = NewType("StripeEventId", str)

IdT = TypeVar("IdT", bound=str)

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH: Final = 26
_BODY: Final = re.compile(rf"[0-7][{_ALPHABET}]{{{_LENGTH - 1}}}")
_KEY_KIND: Final = re.compile(r"[a-z][a-z-]{0,39}")

ENTROPY_BYTES: Final = 10
"""Random bytes in one id."""


@dataclass(frozen=True, slots=True)
class IdKind(Generic[IdT]):
    """One kind of id: its prefix and its type."""

    prefix: str
    wrap: Callable[[str], IdT]

    def parse(self, text: str) -> IdT:
        """The id that `text` is. Refuses ids of another kind or form (ID_MALFORMED)."""
        prefix, _, body = text.partition("_")
        if prefix != self.prefix or _BODY.fullmatch(body) is None:
            example = f"{self.prefix}_{_ALPHABET[: _LENGTH - 1]}…"
            raise Refusal(Code.ID_MALFORMED, text=text[:60], example=example)
        return self.wrap(text)


# Not `acct_`, which is how Stripe's own account ids begin.
ACCOUNT: Final = IdKind("acc", AccountId)
CUSTOMER: Final = IdKind("cus", CustomerId)
INVOICE: Final = IdKind("inv", InvoiceId)
ATTEMPT: Final = IdKind("att", AttemptId)
PAYMENT: Final = IdKind("pay", PaymentId)
EVENT: Final = IdKind("evt", EventId)
NOTICE: Final = IdKind("ntc", NoticeId)
REQUEST: Final = IdKind("req", RequestId)
REFUND: Final = IdKind("rfd", RefundId)
ENDPOINT: Final = IdKind("whe", EndpointId)
MESSAGE: Final = IdKind("msg", MessageId)
DELIVERY: Final = IdKind("dlv", DeliveryId)
EVENT_DELIVERY: Final = IdKind("edl", EventDeliveryId)
SIGNING_SECRET: Final = IdKind("sgn", SigningSecretId)
PAGE_LINK: Final = IdKind("lnk", PageLinkId)
RECOVERY: Final = IdKind("rcv", RecoveryId)
CREDIT: Final = IdKind("cre", CreditId)
DUNNING_POLICY: Final = IdKind("dpo", DunningPolicyId)
DUNNING_RUN: Final = IdKind("dun", DunningRunId)
PRICE: Final = IdKind("pri", PriceId)
SUBSCRIPTION: Final = IdKind("sub", SubscriptionId)
KEY: Final = IdKind("key", KeyId)

KINDS: Final = (
    ACCOUNT,
    CUSTOMER,
    INVOICE,
    ATTEMPT,
    PAYMENT,
    EVENT,
    NOTICE,
    REQUEST,
    REFUND,
    RECOVERY,
)
"""Every kind, for documentation and tests."""


def make(kind: IdKind[IdT], at_ms: int, entropy: bytes) -> IdT:
    """The id of `kind` at a time, in ms since 1970, with `ENTROPY_BYTES` random bytes.

    A later millisecond gives an id that sorts later. Raises ValueError outside of 48 bits of
    time or with another number of bytes.
    """
    if not 0 <= at_ms < 1 << 48 or len(entropy) != ENTROPY_BYTES:
        raise ValueError("an id needs 48 bits of milliseconds and 10 random bytes")
    return _spell(kind, at_ms << 80 | int.from_bytes(entropy))


def derive(kind: IdKind[IdT], *parts: str | int) -> IdT:
    """The id of `kind` that these parts always give; other parts give another one."""
    return _spell(kind, int.from_bytes(_digest(kind.prefix, parts)[:16]))


def derive_at(kind: IdKind[IdT], at_ms: int, *parts: str | int) -> IdT:
    """As `derive`, but it sorts among ids that were made at this time, in ms since 1970."""
    return make(kind, at_ms, _digest(kind.prefix, parts)[:ENTROPY_BYTES])


def key_of(kind: str, *parts: str | int) -> str:
    """An idempotency key that these parts always give, with a readable beginning.

    `kind` names the request to Stripe in lower case (`charge`, `intent`); ValueError otherwise.
    Never the kind of an attempt: keys that differed by it were four routes to a second payment
    (protocol section 1). At most 255 characters, without secrets (Stripe: Idempotent requests).
    """
    if _KEY_KIND.fullmatch(kind) is None:
        raise ValueError(f"{kind!r} does not name a kind of request")
    return f"anchorhold-{kind}-{_digest(kind, parts).hex()}"


def _digest(kind: str, parts: tuple[str | int, ...]) -> bytes:
    """SHA-256 over the parts, each with its type and length in front: no two lists run together."""
    digest = hashlib.sha256()
    for part in (kind, *parts):
        data = str(part).encode()
        tag = b"i" if isinstance(part, int) else b"s"
        digest.update(tag + len(data).to_bytes(8) + data)
    return digest.digest()


def _spell(kind: IdKind[IdT], number: int) -> IdT:
    """128 bits as 26 characters of base 32, most significant first."""
    shifts = range(5 * (_LENGTH - 1), -1, -5)
    return kind.wrap(f"{kind.prefix}_" + "".join(_ALPHABET[number >> n & 31] for n in shifts))

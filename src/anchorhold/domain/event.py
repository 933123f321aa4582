"""An event of Stripe's as it is kept: key facts and safe fields, never the payload."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from anchorhold.domain.intent import METADATA_ACCOUNT, METADATA_INVOICE
from anchorhold.domain.news import News, read
from anchorhold.domain.scope import Scope

INTENT_EVENTS = "payment_intent."


@dataclass(frozen=True, slots=True)
class StripeEvent:
    """What Stripe told. `created` in its whole seconds; amounts in minor units.

    `summary` holds only what can be shown to anybody: statuses, amounts, ids, decline codes.
    """

    id: str
    type: str
    created: int
    object_id: str
    intent_id: str | None = None
    idempotency_key: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    summary: Mapping[str, object] = field(default_factory=dict)

    def is_foreign(self, scope: Scope) -> bool:
        """It says itself that it is about nothing of this account.

        Every intent of ours names its account. Refunds and disputes name their intent alone, which
        may be ours.
        """
        named = self.metadata.get(METADATA_ACCOUNT)
        if self.type.startswith(INTENT_EVENTS):
            return named != scope.account_id
        return named is not None and named != scope.account_id

    def names(self, scope: Scope) -> str | None:
        """The invoice of this account that its metadata name."""
        if self.metadata.get(METADATA_ACCOUNT) != scope.account_id:
            return None
        return self.metadata.get(METADATA_INVOICE)

    @property
    def act(self) -> News | None:
        """What it asks for; None for a type that is not in question."""
        row = read(self.type)
        return row.act if row else None

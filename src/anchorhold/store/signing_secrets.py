"""The secrets that Stripe signs an account's deliveries with."""

from dataclasses import dataclass
from datetime import datetime

from anchorhold.domain.ids import AccountId, SigningSecretId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """A secret as it is stored, for whoever verifies; sealed."""

    id: SigningSecretId
    livemode: bool
    secret: bytes
    stripe_account: str


async def active(db: Db, account: str) -> tuple[AccountId, list[SigningSecret]] | None:
    """The account of this id or name, with its active secrets of both modes, newest first.

    None: there is no such account.
    """
    found = await db.one(
        "SELECT id FROM anchorhold.account WHERE id = %(account)s OR name = %(account)s",
        str,
        account=account,
    )
    if found is None:
        return None
    rows = await db.all(
        """
        SELECT s.id, s.livemode, s.secret, c.stripe_account
          FROM anchorhold.signing_secret s
          JOIN anchorhold.connection c USING (account_id, livemode)
         WHERE s.account_id = %(account_id)s
           AND (s.ends_at IS NULL OR s.ends_at > anchorhold.now())
         ORDER BY s.created_at DESC, s.id DESC
        """,
        SigningSecret,
        account_id=found,
    )
    return AccountId(found), rows


async def add(
    db: Db,
    scope: Scope,
    secret_id: SigningSecretId,
    *,
    secret: bytes,
    last4: str,
    overlap_s: float,
) -> str | None:
    """Deliveries that this secret signed are believed; every older one ends after the overlap.

    None: the mode is not connected to Stripe, or the id is taken.
    """
    return await db.one(
        """
        WITH older AS (
            UPDATE anchorhold.signing_secret
               SET ends_at = anchorhold.now() + make_interval(secs => %(overlap_s)s)
             WHERE account_id = %(account_id)s AND livemode = %(livemode)s
               AND id <> %(secret_id)s
               AND (ends_at IS NULL
                    OR ends_at > anchorhold.now() + make_interval(secs => %(overlap_s)s))
        )
        INSERT INTO anchorhold.signing_secret (account_id, livemode, id, secret, last4)
        SELECT account_id, livemode, %(secret_id)s, %(secret)s, %(last4)s
          FROM anchorhold.connection
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
        ON CONFLICT DO NOTHING
        RETURNING id
        """,
        str,
        **scope.params,
        secret_id=secret_id,
        secret=secret,
        last4=last4,
        overlap_s=overlap_s,
    )


@dataclass(frozen=True, slots=True)
class SigningSecretView:
    """A secret as people see it."""

    id: SigningSecretId
    last4: str
    created_at: datetime
    ends_at: datetime | None


async def all_of(db: Db, scope: Scope) -> list[SigningSecretView]:
    """Every secret of the mode, newest first, with those that have ended."""
    return await db.all(
        """
        SELECT id, last4, created_at, ends_at
          FROM anchorhold.signing_secret
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
         ORDER BY created_at DESC, id DESC
        """,
        SigningSecretView,
        **scope.params,
    )

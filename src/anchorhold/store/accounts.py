"""Accounts and their connection to Stripe, one a mode."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from anchorhold.domain.account import AfterPresumedNone, ChargeMode, Modes, SweepMode
from anchorhold.domain.ids import AccountId
from anchorhold.domain.scope import Scope
from anchorhold.store.db import Db

PREPARED: Final = Modes()


@dataclass(frozen=True, slots=True)
class Account:
    """A tenant as people see it, with one connection's facts; no secret in it."""

    id: AccountId
    name: str
    livemode: bool | None
    charge_mode: ChargeMode
    stripe_account: str | None
    key_last4: str | None
    refused_at: datetime | None
    refused_reason: str | None
    sweep_mode: SweepMode
    after_presumed_none: AfterPresumedNone


async def create(
    db: Db, account_id: AccountId, name: str, modes: Modes = PREPARED
) -> AccountId | None:
    """The account exists under this name; None when the name is taken."""
    row = await db.one(
        """
        INSERT INTO anchorhold.account
               (id, name, charge_mode, sweep_mode, after_presumed_none)
        VALUES (%(account_id)s, %(name)s, %(charge_mode)s, %(sweep_mode)s,
                %(after_presumed_none)s)
        ON CONFLICT DO NOTHING
        RETURNING id
        """,
        str,
        account_id=account_id,
        name=name,
        charge_mode=modes.charge,
        sweep_mode=modes.sweep,
        after_presumed_none=modes.after_presumed_none,
    )
    return AccountId(row) if row else None


async def set_modes(db: Db, account_id: AccountId, modes: Modes) -> AccountId | None:
    """The account charges like this from the next claim on; None when there is no such account.

    Safe with holds set: an attempt carries how it asked for money, with which key and which
    parameters, so that its check reads nothing of this but the sweep's mode and the policy.
    """
    row = await db.one(
        """
        UPDATE anchorhold.account
           SET charge_mode = %(charge_mode)s, sweep_mode = %(sweep_mode)s,
               after_presumed_none = %(after_presumed_none)s
         WHERE id = %(account_id)s
        RETURNING id
        """,
        str,
        account_id=account_id,
        charge_mode=modes.charge,
        sweep_mode=modes.sweep,
        after_presumed_none=modes.after_presumed_none,
    )
    return AccountId(row) if row else None


@dataclass(frozen=True, slots=True)
class NewConnection:
    """A Stripe key to store: encrypted, with the parts of it that may be shown."""

    stripe_account: str
    secret_key: bytes
    key_last4: str
    key_fingerprint: str
    payment_method_types: tuple[str, ...] | None = None
    """What customers may pay with; None: what the mode had, and cards if it is new."""


async def connect(db: Db, scope: Scope, new: NewConnection) -> str | None:
    """The mode uses this key from now on, and an earlier refusal is forgotten.

    Customers and intents stay with the Stripe account that they were made in.
    """
    types = new.payment_method_types
    return await db.one(
        """
        INSERT INTO anchorhold.connection
               (account_id, livemode, stripe_account, secret_key, key_last4, key_fingerprint,
                payment_method_types)
        VALUES (%(account_id)s, %(livemode)s, %(stripe_account)s, %(secret_key)s, %(key_last4)s,
                %(key_fingerprint)s, coalesce(%(payment_method_types)s::text[], '{card}'))
        ON CONFLICT (account_id, livemode) DO UPDATE
           SET stripe_account = excluded.stripe_account, secret_key = excluded.secret_key,
               key_last4 = excluded.key_last4, key_fingerprint = excluded.key_fingerprint,
               payment_method_types = coalesce(%(payment_method_types)s::text[],
                                               connection.payment_method_types),
               refused_at = NULL, refused_reason = NULL, right_missing = false,
               connected_at = anchorhold.now()
        RETURNING stripe_account
        """,
        str,
        **scope.params,
        stripe_account=new.stripe_account,
        secret_key=new.secret_key,
        key_last4=new.key_last4,
        key_fingerprint=new.key_fingerprint,
        payment_method_types=types and list(types),
    )


@dataclass(frozen=True, slots=True)
class Connection:
    """What a provider is made from; the key is encrypted."""

    stripe_account: str
    secret_key: bytes
    key_fingerprint: str
    refused_at: datetime | None
    right_missing: bool
    charge_mode: ChargeMode


async def connection(db: Db, scope: Scope) -> Connection | None:
    """The connection of a mode, or None when it was never connected."""
    return await db.one(
        """
        SELECT c.stripe_account, c.secret_key, c.key_fingerprint, c.refused_at, c.right_missing,
               account.charge_mode
          FROM anchorhold.connection c
          JOIN anchorhold.account ON account.id = c.account_id
         WHERE c.account_id = %(account_id)s AND c.livemode = %(livemode)s
        """,
        Connection,
        **scope.params,
    )


async def refuse(
    db: Db, scope: Scope, *, key_fingerprint: str, reason: str, right_missing: bool = False
) -> str | None:
    """Claims skip the mode until its key is accepted again; None when nothing changed.

    The fingerprint is compared, so that a late 401 of an old key cannot flag the new one.
    """
    return await db.one(
        """
        UPDATE anchorhold.connection
           SET refused_at = anchorhold.now(), refused_reason = %(reason)s,
               right_missing = %(right_missing)s
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND key_fingerprint = %(key_fingerprint)s AND refused_at IS NULL
        RETURNING account_id
        """,
        str,
        **scope.params,
        key_fingerprint=key_fingerprint,
        reason=reason,
        right_missing=right_missing,
    )


async def accept(db: Db, scope: Scope, *, key_fingerprint: str) -> str | None:
    """The key was accepted: the mode is charged again; None when nothing changed."""
    return await db.one(
        """
        UPDATE anchorhold.connection
           SET refused_at = NULL, refused_reason = NULL, right_missing = false
         WHERE account_id = %(account_id)s AND livemode = %(livemode)s
           AND key_fingerprint = %(key_fingerprint)s AND refused_at IS NOT NULL
        RETURNING account_id
        """,
        str,
        **scope.params,
        key_fingerprint=key_fingerprint,
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    account_id: AccountId
    livemode: bool


async def scopes(db: Db) -> list[Scope]:
    """Every account and mode that is connected to Stripe."""
    rows = await db.all(
        "SELECT account_id, livemode FROM anchorhold.connection ORDER BY account_id, livemode",
        _Scope,
    )
    return [Scope(row.account_id, row.livemode) for row in rows]


async def all_accounts(db: Db) -> list[Account]:
    """Every account, a row for each connected mode."""
    return await db.all(
        """
        SELECT a.id, a.name, c.livemode, a.charge_mode, c.stripe_account, c.key_last4,
               c.refused_at, c.refused_reason, a.sweep_mode, a.after_presumed_none
          FROM anchorhold.account a
          LEFT JOIN anchorhold.connection c ON c.account_id = a.id
         ORDER BY a.name, c.livemode
        """,
        Account,
    )

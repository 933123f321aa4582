"""Who calls, and whether they may: the key decides account, mode, version and rights."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from aiolimiter import AsyncLimiter
from fastapi import Depends
from starlette.requests import Request

from anchorhold.app import App
from anchorhold.domain import api_key
from anchorhold.domain.api_key import Access, Noun
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.ids import KeyId, RequestId
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.store import api_keys
from anchorhold.store.api_keys import Found
from anchorhold.store.db import Db

RATE: Final = 100
"""Requests of one key in one second, in one process."""
VERSION_HEADER: Final = "anchorhold-version"

Wake = Callable[[Scope], Awaitable[None]]


async def nobody(scope: Scope) -> None:
    """Wakes nobody: the next tick finds the work."""
    del scope


@dataclass(frozen=True, slots=True)
class Api:
    """What every route works with. `wake` asks a worker to look for what is due."""

    app: App
    wake: Wake = nobody
    rate: int = RATE
    limiters: dict[KeyId, AsyncLimiter] = field(default_factory=dict)
    running: set[Any] = field(default_factory=set)
    """Acts that their requests do not wait for any more; they come to their end."""

    @property
    def db(self) -> Db:
        """The database."""
        return self.app.deps.db


@dataclass(frozen=True, slots=True)
class Caller:
    """An accepted key, and the request that came with it."""

    key_id: KeyId
    scope: Scope
    version: str
    request_id: RequestId

    def actor(self, request_id: RequestId) -> str:
        """How what this request does is signed: by the key, for the first request of its kind."""
        return f"key:{self.key_id}:{request_id}"


def request_id_of(request: Request) -> RequestId:
    """The id that the answer, the log and the journal have in common."""
    return RequestId(request.state.request_id)


def may(api: Api, noun: Noun, access: Access) -> Any:
    """The caller whose key may do this, as a dependency of a route.

    Raises Refusal: key_missing, key_invalid, grant_missing, rate_limited, version_unknown.
    """

    async def admitted(request: Request) -> Caller:
        text = _sent(request)
        found = await _found(api, text)
        if not api_key.allows(found.kind, found.grants, noun, access):
            raise Refusal(
                ApiCode.GRANT_MISSING,
                shown=api_key.shown(text),
                noun=noun.value,
                access=access.value,
            )
        await _paced(api, found, text)
        scope = request.state.scope = Scope(found.account_id, found.livemode)
        if found.unstamped:
            await api_keys.used(api.db, scope, found.id)
        version = _version(request, found)
        return Caller(found.id, scope, version, request_id_of(request))

    return Depends(admitted)


def _sent(request: Request) -> str:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not text.strip():
        raise Refusal(ApiCode.KEY_MISSING)
    return text.strip()


async def _found(api: Api, text: str) -> Found:
    prefix = api_key.prefix_of(text)
    found = await api_keys.find(api.db, prefix) if prefix else None
    if found is None or not api_key.fits(text, found.digest) or found.ended:
        raise Refusal(ApiCode.KEY_INVALID, shown=api_key.shown(text))
    return found


async def _paced(api: Api, found: Found, text: str) -> None:
    """Passes, or refuses at once: nobody waits in a queue here."""
    limiter = api.limiters.setdefault(found.id, AsyncLimiter(api.rate, 1))
    if not limiter.has_capacity():
        raise Refusal(ApiCode.RATE_LIMITED, shown=api_key.shown(text), limit=api.rate)
    await limiter.acquire()


def _version(request: Request, found: Found) -> str:
    """The version that was asked for, else the key's; the answer says which one it was."""
    asked = request.headers.get(VERSION_HEADER, found.version)
    if asked not in api_key.VERSIONS:
        known = ", ".join(api_key.VERSIONS)
        raise Refusal(ApiCode.VERSION_UNKNOWN, text=asked[:20], known=known)
    request.state.version = asked
    return asked

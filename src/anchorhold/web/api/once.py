"""One effect and one answer for a POST, however often it is sent and wherever a process dies.

A request with an `Idempotency-Key` takes its turn in a row of its own before anything is done, and
its answer is committed to that row. A process that dies in between leaves a turn that ends; whoever
repeats the request takes it over under the first request's id, by which every effect is signed, so
that an effect that is there is found and not made again.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from anchorhold import crypto
from anchorhold.domain.api_refusals import ApiCode
from anchorhold.domain.ids import IdKind, IdT, InvoiceId, RequestId
from anchorhold.domain.refusals import Refusal
from anchorhold.domain.scope import Scope
from anchorhold.engine.deps import Deps
from anchorhold.objects import Object
from anchorhold.store import idempotency, views_journal
from anchorhold.store.idempotency import Turn
from anchorhold.store.views_journal import JournalEntry
from anchorhold.web.api.calling import Api, Caller

LIMIT_S: Final = 30.0
LEASE_S: Final = 60.0
"""A turn without an answer is another's after that; holds forbid a second charge in any case."""
HEADER: Final = "idempotency-key"
REPLAYED: Final = "idempotent-replayed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a POST answers, and what every repetition of it answers."""

    body: Object
    status: int = 200


@dataclass(frozen=True, slots=True)
class Act:
    """One POST at work. `again`: another process may have done some or all of it."""

    deps: Deps
    scope: Scope
    request_id: RequestId
    again: bool

    def own_id(self, kind: IdKind[IdT]) -> IdT:
        """The id of what this request makes: the same one, whoever works on it."""
        return kind.parse(f"{kind.prefix}_{self.request_id.partition('_')[2]}")

    async def done(self, invoice_id: InvoiceId) -> list[JournalEntry]:
        """What this request did to the invoice before; it is looked up only when it may have."""
        if not self.again:
            return []
        entries = await views_journal.of_invoice(self.deps.db, self.scope, invoice_id)
        return [entry for entry in entries if entry.actor.endswith(self.request_id)]


Work = Callable[[Act], Awaitable[Answer]]


async def once(
    api: Api,
    caller: Caller,
    request: Request,
    body: BaseModel | None,
    work: Work,
    *,
    moves_money: bool = False,
) -> Response:
    """The answer of `work`, which runs to its end whatever becomes of the connection.

    Raises what `work` refuses, and: idempotency_key_required, idempotency_key_invalid,
    idempotency_key_in_use, idempotency_key_reused, still_running.
    """
    key = _key(request, moves_money=moves_money)
    if key is None:
        act = _act(api, caller, caller.request_id, again=False)
        return _response(await _limited(api, work(act)))
    digest = digest_of(request, body)
    turn = await idempotency.begin(
        api.db, caller.scope, key, digest=digest, request_id=caller.request_id, lease_s=LEASE_S
    )
    if turn is None:
        return await _before(api, caller, key, digest)
    again = turn.request_id != caller.request_id
    act = _act(api, caller, turn.request_id, again=again)
    return _response(await _limited(api, _answered(api, turn, work, act)))


def digest_of(request: Request, body: BaseModel | None) -> bytes:
    """What makes a request the same: where it goes and what its fields are, in any order."""
    fields = body.model_dump(mode="json", exclude_unset=True) if body else None
    text = json.dumps([request.method, request.url.path, fields], sort_keys=True)
    return hashlib.sha256(text.encode()).digest()


def _key(request: Request, *, moves_money: bool) -> str | None:
    key = request.headers.get(HEADER)
    if key is None:
        if moves_money:
            raise Refusal(ApiCode.IDEMPOTENCY_KEY_REQUIRED)
        return None
    if not 0 < len(key) <= 255 or not all(" " < character <= "~" for character in key):
        raise Refusal(ApiCode.IDEMPOTENCY_KEY_INVALID)
    return key


def _act(api: Api, caller: Caller, request_id: RequestId, *, again: bool) -> Act:
    deps = replace(api.app.deps, actor=caller.actor(request_id))
    return Act(deps, caller.scope, request_id, again)


async def _answered(api: Api, turn: Turn, work: Work, act: Act) -> Answer:
    """The answer is committed. A refusal did nothing, so that its key may be sent once more.

    Where nobody can tell yet what the first process did, the key stays its own until one can.
    """
    try:
        answer = await work(act)
    except Refusal as refusal:
        if refusal.code is not ApiCode.IDEMPOTENCY_KEY_IN_USE:
            await idempotency.forget(api.db, turn)
        raise
    text = bytes(_response(answer).body).decode()
    sealed = crypto.seal(api.app.secret_key, text, *place_of(turn))
    await idempotency.finish(api.db, turn, status=answer.status, body=sealed)
    return answer


def place_of(turn: Turn) -> tuple[str, ...]:
    """Where an answer is stored; its ciphertext opens nowhere else."""
    scope = turn.scope
    row = (scope.account_id, scope.mode, turn.idempotency_key, turn.request_id)
    return ("idempotent_request", "body", *row)


async def _before(api: Api, caller: Caller, key: str, digest: bytes) -> Response:
    """What the same request was answered before, or why it is not answered now."""
    kept = await idempotency.kept(api.db, caller.scope, key)
    if kept is not None and kept.digest != digest:
        raise Refusal(ApiCode.IDEMPOTENCY_KEY_REUSED)
    if kept is None or kept.status is None or kept.body is None:
        raise Refusal(ApiCode.IDEMPOTENCY_KEY_IN_USE)
    place = ("idempotent_request", "body", caller.scope.account_id, caller.scope.mode, key)
    body = crypto.unseal(api.app.secret_key, kept.body, *place, kept.request_id)
    return Response(body, kept.status, {REPLAYED: "true"}, "application/json")


def _response(answer: Answer) -> Response:
    return JSONResponse(answer.body, answer.status)


async def _limited(api: Api, work: Awaitable[Answer]) -> Answer:
    """What the work answers within 30 s; it goes on after that, and nobody's end cuts it."""
    task = asyncio.ensure_future(work)
    api.running.add(task)
    task.add_done_callback(lambda ended: _ended(api, ended))
    done, _ = await asyncio.wait({task}, timeout=LIMIT_S)
    if not done:
        raise Refusal(ApiCode.STILL_RUNNING, seconds=int(LIMIT_S))
    return task.result()


def _ended(api: Api, task: "asyncio.Future[Any]") -> None:
    """An act that nobody waits for any more still tells of an error, in the log."""
    api.running.discard(task)
    if not task.cancelled() and (error := task.exception()) and not isinstance(error, Refusal):
        api.app.deps.log.error("api.act_failed", error=repr(error))

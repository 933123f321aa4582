"""Idempotency keys: the first answer is kept and given again, for a day and not longer.

Source: https://docs.stripe.com/api/idempotent_requests. A key belongs to one account; endpoint and
parameters are compared. The answer is kept once execution has begun, refusals and 500 included;
not when the parameters were refused before, nor for 401, 409 and 429.
"""

from dataclasses import dataclass

from anchorhold.twin.errors import invalid, key_in_use, key_reused
from anchorhold.twin.form import pairs
from anchorhold.twin.wire import Request


@dataclass(frozen=True, slots=True)
class Saved:
    """What a key stands for. `status` is None while the first request is still running."""

    path: str
    form: str
    at: float
    request_id: str
    status: int | None = None
    body: bytes = b""
    retry: bool | None = None


class Keys:
    """The keys of one account."""

    def __init__(self, life_s: float) -> None:
        self._life_s = life_s
        self._saved: dict[str, Saved] = {}

    def __len__(self) -> int:
        return len(self._saved)

    def find(self, key: str, request: Request, now: float) -> Saved | None:
        """The saved answer for this request, or None when it is the first with its key.

        Raises 400 `idempotency_error` when endpoint or parameters differ, 409 while the first
        request runs, 400 for a key that is too long. A key past its life is forgotten here.
        """
        if len(key) > 255:
            raise invalid("Idempotency keys can have at most 255 characters.")
        saved = self._saved.get(key)
        if saved is None:
            return None
        if saved.status is not None and now - saved.at >= self._life_s:
            del self._saved[key]
            return None
        if saved.path != request.path or not _same_form(saved.form, form_of(request)):
            raise key_reused(key)
        if saved.status is None:
            raise key_in_use(key)
        return saved

    def begin(self, key: str, request: Request, request_id: str, now: float) -> None:
        """The key's first request starts to run."""
        self._saved[key] = Saved(request.path, form_of(request), now, request_id)

    def keep(self, key: str, status: int, body: bytes, *, retry: bool | None) -> None:
        """The answer that every repetition gets from now on."""
        begun = self._saved[key]
        self._saved[key] = Saved(
            begun.path, begun.form, begun.at, begun.request_id, status, body, retry
        )

    def forget(self, key: str) -> None:
        """The request never began to execute; the key is free again."""
        self._saved.pop(key, None)

    def prune(self, now: float) -> int:
        """Forget every key past its life; how many went."""
        old = [k for k, v in self._saved.items() if v.status and now - v.at >= self._life_s]
        for key in old:
            del self._saved[key]
        return len(old)


def form_of(request: Request) -> str:
    """Everything the client sent as parameters, in the query and in the body."""
    body = request.body.decode("utf-8", "replace")
    return f"{request.query}&{body}" if request.query else body


def _same_form(one: str, other: str) -> bool:
    return one == other or sorted(pairs(one)) == sorted(pairs(other))

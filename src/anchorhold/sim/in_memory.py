"""The twin in memory as an HTTP client for the provider: no sockets, no waiting.

A broken connection raises what the real transport would raise; nothing sleeps, so an answer that
would come after the deadline is given up at once.
"""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from multidict import CIMultiDict
from typing_extensions import override

from anchorhold.domain.answer import Deadline, Doubt, NothingSent, NotSent, Unclear
from anchorhold.stripe.transport import (
    Answer,
    CallFailedError,
    Clock,
    Transport,
    current_deadline,
)
from anchorhold.twin import Break, Broken, Request, Response, Twin

BROKEN: Mapping[Break, NothingSent | Unclear] = {
    Break.REFUSED: NothingSent(NotSent.CONNECT_FAILED, "the connection was refused"),
    Break.DROPPED: Unclear(Doubt.CONNECTION_LOST, "the connection was reset"),
    Break.CUT: Unclear(Doubt.CONNECTION_LOST, "the answer broke off"),
    Break.NEVER: Unclear(Doubt.DEADLINE, "no answer came"),
}


class TwinTransport(Transport):
    """Sends to one twin. Deadlines are made on `clock`; `sent` gets each request."""

    def __init__(
        self, twin: Twin, *, clock: Clock = time.monotonic, sent: list[Request] | None = None
    ) -> None:
        super().__init__(clock=clock)
        self._twin = twin
        self._sent = sent

    @override
    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> Answer:
        """The twin's whole answer, or `CallFailedError`."""
        deadline = current_deadline()
        if self._clock() >= deadline.at:
            raise CallFailedError(NothingSent(NotSent.DEADLINE_PASSED))
        request = _request(method, url, headers, post_data)
        if self._sent is not None:
            self._sent.append(request)
        answer = self._twin.send(request)
        if isinstance(answer, Broken):
            raise CallFailedError(BROKEN[answer.how])
        if self._comes_too_late(answer, deadline):
            raise CallFailedError(BROKEN[Break.NEVER])
        return answer.body, answer.status, CIMultiDict(answer.headers)

    def _comes_too_late(self, answer: Response, deadline: Deadline) -> bool:
        return self._clock() + answer.delay_s > deadline.at


def _request(method: str, url: str, headers: Mapping[str, str], post_data: Any) -> Request:
    parts = urlsplit(url)
    body = (post_data or "").encode()
    lower = {name.lower(): value for name, value in headers.items()}
    return Request(method.upper(), parts.path, lower, parts.query, body)

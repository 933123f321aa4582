"""What goes over the wire: one request, its answer, or a connection that broke."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Obj = dict[str, Any]
"""A Stripe object in Stripe's own shape. Never changed in place: a change makes a new one, so a
reference kept by an event or a saved answer is a snapshot."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def encode(obj: Obj) -> bytes:
    """The object as the JSON bytes of a body."""
    return _encode(obj).encode()


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as a Stripe client sends it.

    `path` has no query; `query` is the raw query string; `body` is form-encoded. Header names are
    lower case.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """The value of a header, by its lower-case name."""
        return self.headers.get(name)


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. `delay_s` is how long the twin waits before sending it, in seconds."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    delay_s: float = 0.0

    def json(self) -> Obj:
        """The body, parsed anew at each call."""
        parsed: Obj = json.loads(self.body)
        return parsed


class Break(Enum):
    """How a connection ends that carries no whole answer."""

    REFUSED = "refused"
    """The connection was refused: no byte left the client."""
    DROPPED = "dropped"
    """The request went out; the connection was reset before any byte of an answer."""
    CUT = "cut"
    """The headers and a part of the body came, then a reset."""
    NEVER = "never"
    """The request went out and nothing ever comes; the client has to give up by itself."""


@dataclass(frozen=True, slots=True)
class Broken:
    """No whole answer. A client may look at `how`, `status`, `headers` and `sent` only.

    `executed` says what Stripe did, and is for tests and auditors: a real client cannot know it.
    With `CUT`, `sent` is the part of the body that arrives.
    """

    how: Break
    executed: bool
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: bytes = b""

"""One POST to an endpoint: no redirect, no second send, no address of our own network."""

import asyncio
import errno
import socket
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp
from aiohttp.connector import AddrInfoType

from anchorhold.domain.webhook import ANSWER_S, Outcome, Sent
from anchorhold.entropy import wall_clock
from anchorhold.webhooks.addresses import Network, is_allowed

EXCERPT: Final = 1000
"""So many bytes of an answer are kept for people; no more than these are read."""


class _PrivateAddressError(OSError):
    """The address that was about to be connected to is not a public one."""


class Sender:
    """Sends to public addresses, and to the private networks that the operator named."""

    def __init__(
        self, private: Sequence[Network] = (), *, answer_s: float = ANSWER_S, at_once: int = 64
    ) -> None:
        self._private = tuple(private)
        self._answer_s = answer_s
        self._at_once = at_once
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        """The body was sent once, and this is what came back. Raises nothing but cancellation."""
        began = time.monotonic()
        said, detail, retry_after = await self._try(url, body, headers)
        return Sent(said, detail, round((time.monotonic() - began) * 1000), retry_after)

    async def _try(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int | Outcome, str, float | None]:
        try:
            async with self._opened().post(
                url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                excerpt = (await answer.content.read(EXCERPT)).decode("utf-8", "replace")
                return answer.status, excerpt, _retry_after(answer.headers.get("Retry-After"))
        except aiohttp.ClientConnectorError as error:
            private = isinstance(error.os_error, _PrivateAddressError)
            return (Outcome.PRIVATE_ADDRESS if private else Outcome.NO_CONNECTION), str(error), None
        except aiohttp.ConnectionTimeoutError as error:
            return Outcome.NO_CONNECTION, str(error), None
        except TimeoutError:
            return Outcome.NO_ANSWER, f"no answer within {self._answer_s:g} s", None
        except (aiohttp.ClientError, ValueError, OSError) as error:
            return Outcome.NO_ANSWER, str(error) or type(error).__name__, None

    def _opened(self) -> aiohttp.ClientSession:
        """The session: without cookies, proxies or credentials of this machine."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._at_once,
                    force_close=True,  # a connection is looked at when it opens: each opens anew
                    socket_factory=self._socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._answer_s),
                trust_env=False,
                skip_auto_headers={"Accept-Encoding"},
            )
        return self._session

    def _socket(self, address: AddrInfoType) -> socket.socket:
        """A socket for this very address; aiohttp connects it to no other."""
        family, kind, protocol, _, target = address
        if not is_allowed(str(target[0]), self._private):
            reason = f"{target[0]} is not a public address"
            raise _PrivateAddressError(errno.EACCES, reason)
        return socket.socket(family, kind, protocol)

    async def close(self) -> None:
        """No connection is left."""
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)
            self._session = None


def _retry_after(header: str | None) -> float | None:
    """Seconds from a `Retry-After` header: a number, or a date (RFC 9110, section 10.2.3)."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - wall_clock()).total_seconds())
    except (ValueError, OverflowError, TypeError):  # TypeError: a date without its zone
        return None

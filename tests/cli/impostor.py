"""Servers that say no: a PostgreSQL that refuses a password, a Stripe that refuses a key."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import create_server

from typing_extensions import override


@contextmanager
def refusing_postgres() -> Generator[str]:
    """The address of a server that refuses every password (PostgreSQL: Message Formats)."""
    fields = (b"SFATAL", b"VFATAL", b"C28P01", b'Mpassword authentication failed for user "app"')
    body = b"\0".join(fields) + b"\0\0"
    answer = b"E" + (len(body) + 4).to_bytes(4) + body

    with create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        ended = threading.Event()

        def refuse() -> None:
            while not ended.is_set():
                try:
                    client, _ = listener.accept()
                except TimeoutError:
                    continue
                with client:
                    client.recv(4096)
                    client.sendall(answer)

        thread = threading.Thread(target=refuse)
        thread.start()
        try:
            host, port = listener.getsockname()
            options = "sslmode=disable&gssencmode=disable"
            yield f"postgresql://app:wrong@{host}:{port}/app?{options}"
        finally:
            ended.set()
            thread.join()


class _No(BaseHTTPRequestHandler):
    status = 403
    body = b'{"error": {"type": "invalid_request_error", "message": "This key may not do that."}}'

    def do_GET(self) -> None:
        """Stripe's error object, whatever was asked for (Stripe API: Errors)."""
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Nobody listens."""


@contextmanager
def forbidding_stripe() -> Generator[str]:
    """The address of a Stripe that answers 403 to everything."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _No) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()

"""An HTTP endpoint for probes, in threads of its own."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, TypeAlias

SLOWEST_CLIENT = 5.0  # seconds for a whole request
MOST_CLIENTS = 16  # at once

# The status and the body for a path; None: there is no such path.
Answers: TypeAlias = Callable[[str], tuple[int, Mapping[str, Any]] | None]


class Endpoint:
    """Answers GET and HEAD in JSON from its creation until `close`. Raises OSError where it cannot listen.

    `port` 0 chooses one; the attribute `port` says which.
    """

    def __init__(self, answers: Answers, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = _Server((host, port), _requests(answers))
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="howdah-endpoint", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Answers a few at a time, each within a deadline: slow clients must not take the process's descriptors."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], requests: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._room = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__(address, requests)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        deadline = threading.Timer(SLOWEST_CLIENT, _hang_up, [request])
        deadline.daemon = True
        deadline.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            deadline.cancel()
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was too slow, or has gone, is no news."""

    def server_bind(self) -> None:
        # That of http.server looks our own name up, which may take seconds where there is no name server.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()


def _hang_up(request: socket.socket) -> None:
    """Wakes the thread that reads or writes it, which then closes it."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def _requests(answers: Answers) -> type[BaseHTTPRequestHandler]:
    class Requests(BaseHTTPRequestHandler):
        timeout = SLOWEST_CLIENT
        server_version = "howdah"
        sys_version = ""

        def do_GET(self) -> None:
            found = answers(self.path.partition("?")[0])
            self._answer(*(found or (HTTPStatus.NOT_FOUND, {"status": "not found"})))

        do_HEAD = do_GET  # noqa: N815

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            """In JSON too. A method that we do not have is one that is not allowed."""
            code = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
            self.close_connection = True
            allowed = {"Allow": "GET, HEAD"} if code == HTTPStatus.METHOD_NOT_ALLOWED else {}
            self._answer(code, {"status": HTTPStatus(code).phrase.lower()}, **allowed)

        def _answer(self, status: int, body: Mapping[str, Any], **headers: str) -> None:
            data = json.dumps(body).encode() + b"\n"
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """A probe every second is no news."""

    return Requests

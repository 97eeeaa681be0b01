"""A worker's health over HTTP, for probes: `/healthz` is alive or not, `/readyz` takes work or not.

It answers from threads of its own, so that it can say that the event loop has stopped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from howdah.worker.health import Health

SLOWEST_CLIENT = 5.0


class HealthServer:
    """Serves what `look` says, on a port of the address; 0 chooses one. Raises OSError where it cannot listen."""

    def __init__(self, look: Callable[[], Health], *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = ThreadingHTTPServer((host, port), _requests(look))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="howdah-health", daemon=True).start()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


def answer(path: str, health: Health) -> tuple[int, dict[str, Any]] | None:
    """The status and body for a path, or None for an unknown one."""
    if path == "/healthz":
        good, bad = health.alive, "stalled"
    elif path == "/readyz":
        good, bad = health.ready, "stalled" if health.stalled else "not ready"
    else:
        return None
    body: dict[str, Any] = {"status": "ok" if good else bad, "phase": health.phase}
    if health.stalled:
        body["stalled"] = {name: round(seconds, 1) for name, seconds in health.stalled.items()}
    if health.silent_source is not None:
        never = health.silent_source == float("inf")
        body["database_silent_seconds"] = None if never else round(health.silent_source, 1)
    return (200 if good else 503), body


def _requests(look: Callable[[], Health]) -> type[BaseHTTPRequestHandler]:
    class Requests(BaseHTTPRequestHandler):
        timeout = SLOWEST_CLIENT
        server_version = "howdah"
        sys_version = ""

        def do_GET(self) -> None:
            found = answer(self.path.partition("?")[0], look())
            status, body = found or (404, {"status": "not found", "paths": ["/healthz", "/readyz"]})
            data = json.dumps(body).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Probes are not worth a line."""

    return Requests

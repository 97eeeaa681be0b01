"""A Docker engine that starts nothing: it answers as one does for a single container, and keeps what it was asked."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

PORT = "54321"
STATE = {"Status": "running", "Running": True, "ExitCode": 0}
CONTAINER = {
    "Id": "c0ffee",
    "Name": "/fake",
    "State": STATE,
    "Config": {"Image": "fake", "Tty": False, "Labels": {}},
    "NetworkSettings": {"Ports": {"5432/tcp": [{"HostIp": "0.0.0.0", "HostPort": PORT}]}, "Networks": {"bridge": {}}},
}
ANSWERS: dict[tuple[str, str], Any] = {
    ("GET", "/_ping"): None,
    ("GET", "/version"): {"ApiVersion": "1.44", "MinAPIVersion": "1.24", "Version": "27"},
    ("GET", "/info"): {"OperatingSystem": "fake", "ServerVersion": "27"},
    ("GET", "/images/postgres:18/json"): {"Id": "sha256:1", "RepoTags": ["postgres:18"], "Config": {"Labels": {}}},
    ("POST", "/containers/create"): {"Id": "c0ffee", "Warnings": []},
    ("GET", "/containers/c0ffee/json"): CONTAINER,
    ("POST", "/containers/c0ffee/start"): None,
    ("POST", "/containers/c0ffee/exec"): {"Id": "e1"},
    ("POST", "/exec/e1/start"): None,
    ("GET", "/exec/e1/json"): {"ExitCode": 0, "Running": False},
    ("DELETE", "/containers/c0ffee"): None,
}
Asked = list[tuple[str, str, Any]]


@contextmanager
def fake_docker(path: Path) -> Iterator[Asked]:
    """Listen on this socket; what was asked, as method, path and body, in its order."""
    asked: Asked = []

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            where = self.path.partition("?")[0]
            if where.startswith("/v1."):
                where = where[where.index("/", 1) :]
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            asked.append((self.command, where, json.loads(body) if body else None))
            known = (self.command, where) in ANSWERS
            said = ANSWERS.get((self.command, where), {"message": f"the fake engine does not know {where}"})
            content = b"" if said is None else json.dumps(said).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = where.startswith("/exec")  # a command's output lasts until the end of the stream

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_: Any) -> None: ...

        def address_string(self) -> str:
            return "unix"

    class Engine(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

    with Engine(str(path), Answer) as engine:
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        yield asked
        engine.shutdown()

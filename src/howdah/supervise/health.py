"""How all the processes are: each is asked at a port of its own, and the answer holds what they said."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

PATHS = ("/healthz", "/readyz")
PATIENCE = 2.0  # seconds for one process to answer
LOCALHOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Asked:
    """A place to ask. `pid` and `port` are None while no process runs there."""

    place: int
    pid: int | None
    port: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What it said: the HTTP status, None where it did not answer, and the body or what went wrong."""

    asked: Asked
    status: int | None
    body: Any


def answer(path: str, asked: Sequence[Asked]) -> tuple[int, dict[str, Any]] | None:
    """The status and body for a path, after asking all at once; None for an unknown path."""
    if path not in PATHS:
        return None
    with ThreadPoolExecutor(len(asked)) as pool:
        return together(list(pool.map(lambda one: ask(one, path), asked)))


def ask(asked: Asked, path: str) -> Answer:
    """Ask one process."""
    if asked.port is None:
        return Answer(asked, None, "restarting")
    try:
        with closing(http.client.HTTPConnection(LOCALHOST, asked.port, timeout=PATIENCE)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return Answer(asked, response.status, json.loads(response.read()))
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Answer(asked, None, f"no answer: {error!r}")


def together(answers: Sequence[Answer]) -> tuple[int, dict[str, Any]]:
    """One answer out of many: 200 if each process that runs says so, and one does; else 503.

    A place whose process is just being restarted does not count: a probe must not end the others for it.
    """
    running = [each for each in answers if each.asked.pid is not None]
    fine = bool(running) and all(each.status == HTTPStatus.OK for each in running)
    processes = [
        {"process": each.asked.place, "pid": each.asked.pid, "status": each.status, "said": each.body}
        for each in answers
    ]
    status = HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE
    return status, {"status": "ok" if fine else "not ok", "processes": processes}


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.socket() as probe:
        probe.bind((LOCALHOST, 0))
        port: int = probe.getsockname()[1]
        return port

"""Clients that say nothing, or little, do not take the process's threads and descriptors."""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.error
import urllib.request

import pytest

from howdah.supervise import endpoint
from howdah.supervise.endpoint import Endpoint
from tests.support.held import wait_until


def test_slow_clients_are_few_and_do_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "SLOWEST_CLIENT", 0.3)
    before = threading.active_count()
    with Endpoint(lambda path: (200, {"path": path})) as served:
        slow = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(60)]

        def answered() -> bool:
            for one in slow:
                with contextlib.suppress(OSError):
                    one.send(b"G")  # a byte now and then, for ever
            assert threading.active_count() <= before + 2 * endpoint.MOST_CLIENTS + 2  # each with its deadline
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{served.port}/healthz", timeout=2) as response:
                    return bool(response.status == 200)
            except (urllib.error.URLError, OSError):
                return False

        wait_until(answered, what="an answer in spite of them")
        for one in slow:
            one.close()

"""`/healthz` and `/readyz` over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from howdah.app.health import HealthServer, answer
from howdah.worker.health import Health


def get(server: HealthServer, path: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, json.loads(response.read() or b"{}")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"{}")


@pytest.mark.parametrize(
    ("path", "health", "status", "says"),
    [
        ("/healthz", Health("starting"), 200, {"status": "ok"}),
        ("/healthz", Health("working", silent_source=99.0), 200, {"database_silent_seconds": 99.0}),
        ("/healthz", Health("stopping"), 200, {"phase": "stopping"}),
        ("/healthz", Health("working", {"claiming": 61.26}), 503, {"status": "stalled", "stalled": {"claiming": 61.3}}),
        ("/readyz", Health("working"), 200, {"status": "ok", "phase": "working"}),
        ("/readyz", Health("starting", silent_source=float("inf")), 503, {"database_silent_seconds": None}),
        ("/readyz", Health("working", silent_source=99.0), 503, {"status": "not ready"}),
        ("/readyz", Health("stopping"), 503, {"status": "not ready", "phase": "stopping"}),
        ("/readyz", Health("working", {"leases": 70.0}), 503, {"status": "stalled"}),
    ],
)
def test_the_answer_says_what_is_wrong(path: str, health: Health, status: int, says: dict[str, Any]) -> None:
    found = answer(path, health)
    assert found is not None
    assert found[0] == status
    assert says.items() <= found[1].items()
    json.dumps(found[1], allow_nan=False)


def test_it_is_served_to_any_http_client() -> None:
    server = HealthServer(lambda: Health("working"))
    try:
        assert get(server, "/readyz?verbose") == (200, {"status": "ok", "phase": "working"})
        assert get(server, "/healthz", "HEAD") == (200, {})
        assert get(server, "/metrics")[0] == 404
        with pytest.raises(OSError, match="in use"):
            HealthServer(lambda: Health("working"), port=server.port)
    finally:
        server.close()

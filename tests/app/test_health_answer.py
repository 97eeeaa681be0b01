"""What `/healthz` and `/readyz` say of a worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from howdah.app.health import answer
from howdah.worker.health import Health


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

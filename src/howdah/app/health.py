"""What a worker answers a probe: `/healthz` is alive or not, `/readyz` takes work or not."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from howdah.worker.health import Health


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
    return (HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE), body

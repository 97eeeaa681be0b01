"""Workers and kinds as the database knows them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict

import msgspec

from howdah.model.job import Policy, Vitals, WorkerInfo
from howdah.store.operation import Operation, Query, Rows

log = logging.getLogger("howdah.worker")


def register_kinds(policies: Sequence[Policy], worker: str) -> Operation[None]:
    """Write what the code declares of its kinds; a change is logged and audited, a pinned policy stays."""
    declared = msgspec.json.encode([asdict(policy) for policy in policies]).decode()
    for row in (yield Query("kinds/register", {"policies": declared, "worker": worker})):
        if row["pinned"]:
            log.info("kind %s: an operator's policy stays, the code declares another", row["kind"])
        else:
            log.info("kind %s: policy written", row["kind"])


def known_kinds() -> Operation[list[str]]:
    """The kinds that workers have registered."""
    return [row["kind"] for row in (yield Query("kinds/known"))]


def every() -> Operation[Rows]:
    """The workers and how they are."""
    return (yield Query("workers/list"))


def register_worker(worker: WorkerInfo) -> Operation[None]:
    """Show a worker that has started."""
    yield Query("workers/register", _params(worker))


def knows_worker(worker: str) -> Operation[tuple[bool, str]]:
    """Whether a worker has registered in this database, and the database's name."""
    found = (yield Query("workers/knows", {"worker": worker}))[0]
    return found["known"], found["database"]


def beat(worker: WorkerInfo, vitals: Vitals) -> Operation[bool]:
    """A worker's heartbeat; whether the database had forgotten the worker."""
    return bool((yield Query("workers/beat", {**_params(worker), **asdict(vitals)}))[0]["is_new"])


def leave(worker: WorkerInfo) -> Operation[None]:
    """Take a worker that has stopped off the list."""
    yield Query("workers/leave", {"worker": worker.name})


def _params(worker: WorkerInfo) -> dict[str, object]:
    return {
        "worker": worker.name,
        "hostname": worker.hostname,
        "pid": worker.pid,
        "version": worker.version,
        "queues": msgspec.json.encode(dict(worker.queues)).decode(),
        "kinds": None if worker.kinds is None else list(worker.kinds),
    }

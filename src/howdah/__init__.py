"""Howdah: a work queue that lives in PostgreSQL. The public names; nothing else is public.

They are imported when they are first used, so that `howdah --help` does not wait for SQLAlchemy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from howdah.app.worker import Worker as Worker
    from howdah.client.async_client import AsyncClient as AsyncClient
    from howdah.client.client import Client as Client
    from howdah.client.kind import AnyKind as AnyKind
    from howdah.client.kind import Kind as Kind
    from howdah.client.kind import KindDecorator as KindDecorator
    from howdah.client.kind import job as job
    from howdah.client.target import AsyncTarget as AsyncTarget
    from howdah.client.target import SyncTarget as SyncTarget
    from howdah.model.errors import HowdahError as HowdahError
    from howdah.model.errors import InvalidArgs as InvalidArgs
    from howdah.model.errors import InvalidOption as InvalidOption
    from howdah.model.errors import InvalidTransition as InvalidTransition
    from howdah.model.errors import JobNotClaimable as JobNotClaimable
    from howdah.model.errors import JobNotFound as JobNotFound
    from howdah.model.errors import LeaseLost as LeaseLost
    from howdah.model.errors import SchemaMismatch as SchemaMismatch
    from howdah.model.errors import Unreachable as Unreachable
    from howdah.model.job import JSON as JSON
    from howdah.model.job import AttemptError as AttemptError
    from howdah.model.job import ClaimedJob as ClaimedJob
    from howdah.model.job import Drained as Drained
    from howdah.model.job import Enqueued as Enqueued
    from howdah.model.job import Job as Job
    from howdah.model.job import JobState as JobState
    from howdah.model.job import Lease as Lease
    from howdah.model.job import NewJob as NewJob
    from howdah.model.job import OnCrash as OnCrash
    from howdah.model.job import OnSupersede as OnSupersede
    from howdah.model.job import Reaped as Reaped
    from howdah.model.limits import Seconds as Seconds
    from howdah.model.options import Options as Options
    from howdah.model.outcome import Cancel as Cancel
    from howdah.model.outcome import Complete as Complete
    from howdah.model.outcome import Discard as Discard
    from howdah.model.outcome import Fail as Fail
    from howdah.model.outcome import Outcome as Outcome
    from howdah.model.outcome import Release as Release
    from howdah.model.outcome import RetryAfter as RetryAfter
    from howdah.model.outcome import Snooze as Snooze
    from howdah.model.retry import Retry as Retry
    from howdah.worker.context import Context as Context
    from howdah.worker.middleware import Middleware as Middleware
    from howdah.worker.middleware import Observer as Observer
    from howdah.worker.transaction import Transaction as Transaction

_HOME = {
    "howdah.app.worker": ("Worker",),
    "howdah.client.async_client": ("AsyncClient",),
    "howdah.client.client": ("Client",),
    "howdah.client.kind": ("AnyKind", "Kind", "KindDecorator", "job"),
    "howdah.client.target": ("AsyncTarget", "SyncTarget"),
    "howdah.model.errors": (
        "HowdahError",
        "InvalidArgs",
        "InvalidOption",
        "InvalidTransition",
        "JobNotClaimable",
        "JobNotFound",
        "LeaseLost",
        "SchemaMismatch",
        "Unreachable",
    ),
    "howdah.model.job": (
        "JSON",
        "AttemptError",
        "ClaimedJob",
        "Drained",
        "Enqueued",
        "Job",
        "JobState",
        "Lease",
        "NewJob",
        "OnCrash",
        "OnSupersede",
        "Reaped",
    ),
    "howdah.model.limits": ("Seconds",),
    "howdah.model.options": ("Options",),
    "howdah.model.outcome": (
        "Cancel",
        "Complete",
        "Discard",
        "Fail",
        "Outcome",
        "Release",
        "RetryAfter",
        "Snooze",
    ),
    "howdah.model.retry": ("Retry",),
    "howdah.worker.context": ("Context",),
    "howdah.worker.middleware": ("Middleware", "Observer"),
    "howdah.worker.transaction": ("Transaction",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'howdah' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Extending leases: what a worker asks for in one tick, and what it is told of each lease."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from howdah.model.errors import LostReason
from howdah.model.job import Lease

CancelReason: TypeAlias = Literal["cancelled", "superseded"]


@dataclass(frozen=True, slots=True)
class Extension:
    """One lease to extend by `seconds` from now; `progress` is JSON text to keep on the job, or None."""

    lease: Lease
    seconds: float
    progress: str | None = None


@dataclass(frozen=True, slots=True)
class Extended:
    """The lease now ends at `expires_at`; `cancel` says what the handler has been asked meanwhile."""

    lease: Lease
    expires_at: datetime
    cancel: CancelReason | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """Somebody holds the row's lock: ask again at the next tick. It cannot be taken meanwhile."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is gone, and why."""

    lease: Lease
    reason: LostReason


Answer: TypeAlias = Extended | Busy | Lost

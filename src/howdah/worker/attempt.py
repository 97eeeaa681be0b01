"""One attempt as a worker holds it, from the claim until its report is settled."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from howdah.model.job import ClaimedJob
from howdah.model.lease import Extension
from howdah.worker.transaction import Transaction

CancelRequest: TypeAlias = Literal["cancelled", "superseded", "timeout", "stopping", "lost"]

# The lease is extended from a third of its length on. With a tick of a sixth, that leaves three tries before the fence.
EXTEND_AT = 2 / 3
# The fence stands before the end, so that the handler has been told by the time that somebody else may begin.
MARGIN = 0.05
LEAST_MARGIN = 0.05


@dataclass(eq=False, slots=True)
class Attempt:
    """A claimed job with its deadline by the monotonic clock.

    The event loop, the lease keeper and the handler's thread share it without a lock: every field has one writer, and
    what two may write (`cancel`) only ever becomes stricter. `deadline` counts from before the request that gave the
    lease, so it is never later than the database's own.
    """

    job: ClaimedJob
    deadline: float
    expires_at: datetime | None = None  # by the database's clock, once extended
    cancel: CancelRequest | None = None
    started: bool = False  # the start step was sent
    began_at: float | None = None  # when it took a slot
    ended: bool = False  # the handler is over: from here on the database alone decides about the report
    task: asyncio.Task[Any] | None = None
    transaction: Transaction | None = None
    progress: str | None = None
    progress_sent: str | None = None
    send_until: float = 0.0  # when its report is given up
    wanted_until: float = 0.0  # what the handler asked for with `extend`, by the monotonic clock

    @property
    def lost(self) -> bool:
        """Whether its lease is gone, so that its result is refused."""
        return self.cancel == "lost"

    @property
    def fence_at(self) -> float:
        """When the attempt is over unless its lease has been extended by then."""
        length = self.job.lease_seconds
        return self.deadline - min(length / 4, max(LEAST_MARGIN, MARGIN * length))

    def ask(self, reason: CancelRequest) -> bool:
        """Ask the handler to end; whether it is to be told now. A lost lease outranks every other reason."""
        if self.ended or self.lost or self.cancel == reason:
            return False
        if self.cancel is None or reason == "lost":
            self.cancel = reason
        return True

    def needs_extension(self, now: float) -> bool:
        """Whether its age, or its handler, asks for an extension."""
        if now >= self.deadline - EXTEND_AT * self.job.lease_seconds:
            return True
        return not self.ended and (self.progress is not self.progress_sent or self._wants_longer)

    def extension(self, now: float) -> Extension:
        """What to ask the source for."""
        seconds = self.job.lease_seconds
        if self._wants_longer:
            seconds = max(seconds, self.wanted_until - now)
        return Extension(self.job.lease, seconds, None if self.progress is self.progress_sent else self.progress)

    @property
    def _wants_longer(self) -> bool:
        return self.wanted_until > self.deadline + 0.001  # rounding is no wish

"""One attempt as a worker holds it, from the claim until its report is settled."""

from __future__ import annotations

import asyncio
import math
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
    claimed_at: float = 0.0  # by the monotonic clock, no later than the claim
    expires_at: datetime | None = None  # by the database's clock, once extended
    cancel: CancelRequest | None = None
    started: bool = False  # the start step was sent
    began_at: float | None = None  # when it took a slot
    took: float | None = None  # how many seconds its handler ran
    timeout: float = math.inf  # seconds that its handler may take
    times_out_at: float = math.inf
    stall_timeout: float = math.inf  # seconds that its handler may be silent
    heard_at: float = math.inf  # the handler's last sign of life: its begin, progress, or a wish for a longer lease
    ended: bool = False  # the handler is over: from here on the database alone decides about the report
    task: asyncio.Task[Any] | None = None
    in_thread: bool = False  # a thread runs the handler: cancelling the task would end only the wait for it
    transaction: Transaction | None = None
    settling_at: float | None = None  # when its own transaction began to end
    progress: str | None = None
    progress_sent: str | None = None
    send_until: float = 0.0  # when its report is given up
    wanted_until: float = 0.0  # what the handler asked for with `extend`, by the monotonic clock

    def begin(self, now: float, *, timeout: float | None, stall_timeout: float | None) -> None:
        """The handler's first instruction is next: from now on its time counts."""
        self.heard_at = now
        self.timeout = math.inf if timeout is None else timeout
        self.times_out_at = now + self.timeout
        self.stall_timeout = math.inf if stall_timeout is None else stall_timeout

    @property
    def lost(self) -> bool:
        """Whether its lease is gone, so that its result is refused."""
        return self.cancel == "lost"

    @property
    def stuck(self) -> bool:
        """Whether its handler goes on although it has no right to any more."""
        return not self.ended and self.cancel in ("lost", "timeout")

    def is_silent(self, now: float) -> bool:
        """Whether its handler has said nothing for longer than its kind allows."""
        return not self.ended and now - self.heard_at >= self.stall_timeout

    def is_left_to_end(self, now: float) -> bool:
        """Whether its lease is not extended any more, so that what never ends does not hold the job."""
        if self.ended:
            return self.settling_at is not None and now - self.settling_at >= self.job.lease_seconds
        return self.cancel == "timeout" or self.is_silent(now)

    @property
    def fence_at(self) -> float:
        """When the attempt is over unless its lease has been extended by then."""
        length = self.job.lease_seconds
        return self.deadline - min(length / 4, max(LEAST_MARGIN, MARGIN * length))

    def ask(self, reason: CancelRequest) -> bool:
        """Ask the handler to end; whether it is to be told now. A time that is up outranks a wish, a lost lease all."""
        if self.ended or self.lost or self.cancel == reason:
            return False
        if self.cancel is None or reason in ("timeout", "lost"):
            self.cancel = reason
            return True
        return reason == "stopping"  # the last word to a handler that has been told before

    def needs_extension(self, now: float) -> bool:
        """Whether its age, or its handler, asks for an extension."""
        if self.is_left_to_end(now):
            return False
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

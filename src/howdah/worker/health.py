"""Whether a worker's loops make progress: each leaves a sign of life at every turn, and anybody may look."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

STALLED_AFTER = 60.0  # seconds without a turn; every wait of a loop that works is far shorter
ANSWERED_WITHIN = 15.0  # seconds; a worker hears from its source every 5

Phase: TypeAlias = Literal["starting", "working", "stopping", "stopped"]


@dataclass(frozen=True, slots=True)
class Health:
    """How a worker is. `stalled`: the loops without progress, with the seconds since their last turn."""

    phase: Phase
    stalled: Mapping[str, float] = field(default_factory=dict)
    silent_source: float | None = None  # seconds since the source answered, if that is too long; inf: never

    @property
    def alive(self) -> bool:
        """Whether every loop makes progress. An outage of the database is no reason to restart a worker."""
        return not self.stalled

    @property
    def ready(self) -> bool:
        """Whether it can take work: alive, started, not stopping, and in touch with its source."""
        return self.alive and self.phase == "working" and self.silent_source is None


class Pulse:
    """One loop's sign of life. It has one writer, and any thread may read it."""

    def __init__(self, limit: float, clock: Callable[[], float]) -> None:
        self._limit = limit
        self._clock = clock
        self._at: float | None = None  # None: it rests

    def beat(self) -> None:
        """A turn begins."""
        self._at = self._clock()

    def rest(self) -> None:
        """Nothing is to do until somebody else acts, however long that takes."""
        self._at = None

    def stalled_for(self, now: float) -> float | None:
        """The seconds since its last turn, if those are too many."""
        at = self._at
        return now - at if at is not None and now - at > self._limit else None


class Pulses:
    """The pulses of a worker by the names of its loops."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pulses: dict[str, Pulse] = {}
        self._answered_at = float("-inf")

    def of(self, name: str, limit: float = STALLED_AFTER) -> Pulse:
        """A new loop's pulse; it rests until its first beat."""
        pulse = self._pulses[name] = Pulse(limit, self._clock)
        return pulse

    def answered(self) -> None:
        """The source has answered."""
        self._answered_at = self._clock()

    def look(self, phase: Phase) -> Health:
        """How all of them are."""
        now = self._clock()
        seen = {} if phase == "stopped" else {n: pulse.stalled_for(now) for n, pulse in tuple(self._pulses.items())}
        silent = now - self._answered_at
        return Health(
            phase,
            {name: seconds for name, seconds in seen.items() if seconds is not None},
            silent if silent > ANSWERED_WITHIN else None,
        )


async def tick(pulse: Pulse) -> None:
    """The event loop's own sign of life, until it is cancelled."""
    try:
        while True:
            pulse.beat()
            await asyncio.sleep(1)
    finally:
        pulse.rest()

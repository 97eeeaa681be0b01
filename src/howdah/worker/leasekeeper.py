"""Keeps the leases of a worker alive, and declares an attempt over when it can not.

Two daemon threads, away from the event loop, so that a handler that blocks the loop loses nothing. One extends and may
hang with the database; the other only looks at the clock, so that an attempt ends in time whatever hangs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from howdah.model.job import Vitals
from howdah.model.lease import Answer, Busy, Extended, Extension, Lost
from howdah.worker.attempt import Attempt
from howdah.worker.health import Pulse, Pulses
from howdah.worker.source import JobSource
from howdah.worker.trouble import Trouble

# A tick is a sixth of the shortest lease: with extension from a third on, three tries before the fence. Not over a
# second, so that cancel requests and progress are prompt; not under 20 ms, which serves leases down to 0.12 s.
TICKS_PER_LEASE = 6
SHORTEST_TICK = 0.02
LONGEST_TICK = 1.0
BEAT = 5.0
MAX_EXTENSIONS = 1000  # in one request
SHOWN = 10  # jobs named in one line of the log

log = logging.getLogger(__name__)


class LeaseKeeper:
    """Holds the attempts from their claim until they are settled.

    `interrupt(attempt)` is called in the keeper's threads after the attempt was asked to end; `vitals()` before a beat.
    """

    def __init__(
        self,
        source: JobSource,
        interrupt: Callable[[Attempt], None],
        vitals: Callable[[], Vitals],
        pulses: Pulses,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._interrupt = interrupt
        self._vitals = vitals
        self._pulses = pulses
        self._clock = clock
        self._lock = threading.Lock()
        self._held: set[Attempt] = set()
        self._threads: dict[threading.Thread, threading.Event] = {}
        self._next_beat = 0.0
        self._next_look = 0.0
        self._told_stopping = False
        self._over = False
        self._trouble = Trouble("extending leases")

    def hold(self, attempts: Sequence[Attempt]) -> None:
        """Keep these too."""
        with self._lock:
            self._held.update(attempts)
        if any(attempt.job.lease_seconds < TICKS_PER_LEASE * LONGEST_TICK for attempt in attempts):
            self.wake()  # the longest tick would come too late for them

    def watch(self, attempt: Attempt) -> None:
        """Notice in time that its time is up."""
        if attempt.timeout < LONGEST_TICK:
            self.wake()

    def let_go(self, attempts: Iterable[Attempt]) -> None:
        """Keep these no longer: they are settled, or left to expire."""
        with self._lock:
            self._held.difference_update(attempts)

    def start(self) -> None:
        """Begin to keep."""
        for name, step in (("fence", self.fence), ("leases", self.extend)):
            wake, pulse = threading.Event(), self._pulses.of(name)
            thread = threading.Thread(target=self._repeat, args=(step, wake, pulse), name=f"howdah-{name}", daemon=True)
            self._threads[thread] = wake
            thread.start()

    def wake(self) -> None:
        """Look now instead of at the next tick."""
        for wake in self._threads.values():
            wake.set()

    def stop(self, patience: float = 0.1) -> None:
        """Keep nothing any more. Waits at most `patience` seconds for a request that is under way."""
        self._over = True
        self.wake()
        for thread in self._threads:
            thread.join(timeout=patience / 2)  # one that hangs in the source is a daemon

    def fence(self) -> float:
        """End the attempts whose lease or time is over; gives the seconds until the next may be due."""
        now = self._clock()
        running = [attempt for attempt in self._snapshot() if not attempt.ended]
        over: dict[str, list[int]] = {}
        for attempt in running:
            if attempt.fence_at <= now:
                over.setdefault(_why_over(attempt, now), []).append(attempt.job.id)
                self._lose(attempt)
            elif attempt.times_out_at <= now and attempt.cancel != "timeout" and attempt.ask("timeout"):
                self._interrupt(attempt)
        for why, ids in over.items():  # an outage ends many at once
            log.warning("%s: the results of %d attempts are refused, jobs %s", why, len(ids), _some(ids))
        soonest = min((_next_end(attempt) for attempt in running if not attempt.lost), default=now + LONGEST_TICK)
        return min(max(soonest - now, 0.001), LONGEST_TICK)

    def extend(self) -> float:
        """Extend the leases that are due, and beat; gives the seconds until the next tick."""
        attempts = self._snapshot()
        try:
            now = self._clock()
            due = [attempt for attempt in attempts if attempt.needs_extension(now)]
            for first in range(0, len(due), MAX_EXTENSIONS):
                self._extend(due[first : first + MAX_EXTENSIONS])
            if not self._over:
                self._ask(now, attempts)
            if not self._over:
                self._beat(now)
        except Exception as error:
            if not self._over:
                self._trouble.say(error)
        shortest = min((attempt.job.lease_seconds for attempt in attempts), default=60.0)
        return min(max(shortest / TICKS_PER_LEASE, SHORTEST_TICK), LONGEST_TICK)

    def _extend(self, attempts: Sequence[Attempt]) -> None:
        before = self._clock()  # and not after: the database's lease must outlast ours
        extensions = [attempt.extension(before) for attempt in attempts]
        answers = self._source.extend(extensions)
        for attempt, extension, answer in zip(attempts, extensions, answers, strict=True):
            self._take(attempt, extension, answer, before)

    def _take(self, attempt: Attempt, extension: Extension, answer: Answer, before: float) -> None:
        match answer:
            case Extended(expires_at=expires_at, cancel=cancel):
                attempt.deadline = max(attempt.deadline, before + extension.seconds)
                attempt.expires_at = expires_at
                if extension.progress is not None:
                    attempt.progress_sent = extension.progress
                if cancel is not None and attempt.ask(cancel):
                    self._interrupt(attempt)
            case Busy():
                pass  # nobody can take it meanwhile; the fence decides
            case Lost(reason=reason):
                if not attempt.ended:  # else it is being settled at this moment, perhaps by this very worker
                    log.info("job %d: its lease is lost (%s), its result is refused", attempt.job.id, reason)
                self._lose(attempt)

    def _ask(self, now: float, attempts: Sequence[Attempt]) -> None:
        """Pass on cancel requests within a tick or two: the next extension of a long lease may be hours away."""
        long = {
            attempt.job.id: attempt
            for attempt in attempts
            if attempt.began_at is not None and now - attempt.began_at >= LONGEST_TICK
            if not attempt.ended and attempt.cancel is None
        }
        if long and now >= self._next_look:
            self._next_look = now + LONGEST_TICK
            for job_id, reason in self._source.asked([attempt.job.lease for attempt in long.values()]).items():
                if long[job_id].ask(reason):
                    self._interrupt(long[job_id])

    def _beat(self, now: float) -> None:
        vitals = self._vitals()
        if now >= self._next_beat or vitals.stopping is not self._told_stopping:
            self._source.beat(vitals)
            self._pulses.answered()
            self._next_beat, self._told_stopping = now + BEAT, vitals.stopping

    def _lose(self, attempt: Attempt) -> None:
        self.let_go((attempt,))
        if attempt.ask("lost"):
            self._interrupt(attempt)

    def _snapshot(self) -> list[Attempt]:
        with self._lock:
            return list(self._held)

    def _repeat(self, step: Callable[[], float], wake: threading.Event, pulse: Pulse) -> None:
        while not self._over:
            pulse.beat()
            wake.clear()  # before the step, so that nothing that comes during it is missed
            wake.wait(step())
        pulse.rest()


def _next_end(attempt: Attempt) -> float:
    return attempt.fence_at if attempt.cancel == "timeout" else min(attempt.fence_at, attempt.times_out_at)


def _why_over(attempt: Attempt, now: float) -> str:
    if attempt.cancel == "timeout":
        return "a handler goes on after its time was up, and its lease is over"
    if attempt.is_silent(now):
        return "a handler has been silent for longer than its stall_timeout, and its lease is over"
    return "leases could not be extended in time"


def _some(ids: Sequence[int]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(map(str, ids[:SHOWN])) + more

"""One process that keeps others running: restarts with backoff, passes a stop on, and ends when they have ended."""

from __future__ import annotations

import logging
import random
import signal
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from howdah.supervise import policy
from howdah.supervise.child import Child, Program
from howdah.supervise.wakeups import Wakeups

if TYPE_CHECKING:
    from howdah.supervise.policy import End

# A second signal within this time is the same wish; a little longer than a worker's own, which hears of it later.
SAME_WISH = 0.6
STOPS = (signal.SIGTERM, signal.SIGINT)
RESTART = 255  # no signal has this number
NEVER = float("inf")

log = logging.getLogger("howdah.supervisor")


@dataclass(slots=True, eq=False)
class Place:
    """Room for one process at a time: the one that runs there, or when the next one starts."""

    number: int
    due: float = 0.0
    quick: int = 0
    first_end: End | None = None
    child: Child | None = None

    @property
    def name(self) -> str:
        """What the log calls it."""
        return f"process {self.number}" + (f" (pid {self.child.pid})" if self.child else "")


class Supervisor:
    """Keeps `count` processes of a program running until SIGTERM or SIGINT, in the main thread.

    `hangup_stops`: SIGHUP stops, as the end of a terminal should; otherwise it restarts them one after the other.
    `waits_for_change`: one that refuses to run is started by `restart` alone, and nothing is given up.
    `new_port`: chooses the port at which a process says how it is; None: nobody asks.
    """

    def __init__(
        self,
        program: Program,
        count: int = 1,
        *,
        hangup_stops: bool = False,
        waits_for_change: bool = False,
        new_port: Callable[[], int] | None = None,
    ) -> None:
        self.places = tuple(Place(number) for number in range(1, count + 1))
        self._program = program
        self._hangup_stops = hangup_stops
        self._waits_for_change = waits_for_change
        self._new_port = new_port
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # nohup
        self._wakeups = Wakeups((signal.SIGCHLD, *(() if ignored else (signal.SIGHUP,))), last=STOPS)
        self._stop_asked_at: float | None = None
        self._status = 0
        self._to_replace: deque[Place] = deque()
        self._replacing: Place | None = None

    def run(self) -> int:
        """Until it is told to stop and all have ended. The exit status: 0, or 1 where one did not stop as it should.

        Where all refuse to run at their first start, it is theirs.
        """
        with self._wakeups:
            while self._stop_asked_at is None or any(place.child for place in self.places):
                self._start_what_is_due()
                self._replace_the_next()
                lifelines = [place.child.lifeline for place in self.places if place.child and place.child.lifeline]
                for number in self._wakeups.wait(lifelines, self._patience()):
                    self._heed(number)
                for place in self.places:
                    self._look_at(place)
        return self._status

    def restart(self) -> None:
        """Replace all processes, one after the other. From any thread."""
        self._wakeups.send(RESTART)

    def _start_what_is_due(self) -> None:
        for place in self.places:
            if self._stop_asked_at is None and place.child is None and place.due <= time.monotonic():
                try:
                    place.child = Child(self._program, self._new_port() if self._new_port else None)
                except OSError as error:
                    place.quick += 1
                    self._start_later(place, f"could not be started: {error}")
                else:
                    log.info("%s started", place.name)

    def _patience(self) -> float | None:
        moments = [place.child.kill_at if place.child else place.due for place in self.places]
        if self._stop_asked_at is not None:
            moments = [place.child.kill_at for place in self.places if place.child]
        soonest = min(moments, default=NEVER)
        return None if soonest == NEVER else max(0.0, soonest - time.monotonic())

    def _heed(self, number: int) -> None:
        stops = number in STOPS or (number == signal.SIGHUP and self._hangup_stops)
        if stops and self._stop_asked_at is None:
            log.info("%s: stopping all; a second signal abandons what runs", signal.Signals(number).name)
            self._stop(status=0)
        elif stops and time.monotonic() - (self._stop_asked_at or 0.0) >= SAME_WISH:
            log.warning("%s again: what runs is abandoned", signal.Signals(number).name)
            for place in self.places:
                if place.child:
                    place.child.abandon()
        elif number in (RESTART, signal.SIGHUP) and self._stop_asked_at is None:
            log.info("replacing the processes one by one")
            self._replace_all()

    def _stop(self, status: int) -> None:
        self._stop_asked_at = time.monotonic()
        self._status = status
        for place in self.places:
            if place.child:
                place.child.stop()

    def _look_at(self, place: Place) -> None:
        child = place.child
        if child is None:
            return
        child.listen()
        end = child.ended()
        if end is None:
            if child.kill_at <= time.monotonic():
                log.error("%s did not stop in time and is killed", place.name)
                child.kill()
            return
        name, place.child = place.name, None
        place.first_end = place.first_end or end
        if self._stop_asked_at is not None:
            if not policy.stopped_well(end):
                log.error("%s %s", name, end)
                self._status = self._status or 1
        elif child.asked:
            place.due = 0.0
        else:
            self._judge(place, name, end)

    def _judge(self, place: Place, name: str, end: End) -> None:
        """What to do about one that ended by itself."""
        if end.refused and place is self._replacing and self._to_replace:
            log.error("the others are not replaced")
            self._to_replace.clear()
        if self._waits_for_change and end.refused:
            log.error("it cannot run as it is: waiting for a change")
            place.due = NEVER
        elif (status := policy.given_up([each.first_end for each in self.places])) is not None:
            log.error("no process can run: giving up")
            self._stop(status)
        else:
            place.quick = policy.quick_ends(place.quick, end)
            self._start_later(place, str(end), name)

    def _start_later(self, place: Place, why: str, name: str | None = None) -> None:
        seconds = policy.delay(place.quick, random.random())  # noqa: S311  jitter needs no secrecy
        place.due = time.monotonic() + seconds
        log.warning(
            "%s %s; the next one starts %s", name or place.name, why, f"in {seconds:.1f} s" if seconds else "now"
        )

    def _replace_all(self) -> None:
        # One that has been told to stop is replaced already, by one that will see what has changed.
        self._to_replace = deque(place for place in self.places if not (place.child and place.child.asked))
        if self._replacing in self._to_replace:
            self._replacing = None

    def _replace_the_next(self) -> None:
        current = self._replacing
        if self._stop_asked_at is not None or (current and not _is_new(current.child)):
            return
        self._replacing = self._to_replace.popleft() if self._to_replace else None
        if self._replacing is None:
            return
        self._replacing.due, self._replacing.quick = 0.0, 0
        if self._replacing.child:
            self._replacing.child.stop()
        else:
            self._start_what_is_due()


def _is_new(child: Child | None) -> bool:
    """Whether the process that was asked to stop has been replaced by one that can run."""
    return child is not None and not child.asked and child.heard.loaded

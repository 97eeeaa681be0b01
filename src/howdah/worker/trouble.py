"""A source that does not answer: how long to wait before the next try, and how often to say so."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

from howdah.model.errors import Unreachable

FIRST_DELAY = 0.1
LONGEST_DELAY = 5.0  # so that a worker is back within seconds of its database
QUIET = 1.0  # seconds between two lines, whatever they are about

log = logging.getLogger(__name__)


class Voice:
    """At most one line a second, from whichever loop: an outage strikes all of them at the same moment."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._silent_until = float("-inf")
        self._unsaid = 0

    def say(self, doing: str, error: BaseException) -> None:
        """Log the error, unless one was logged just now."""
        with self._lock:
            now = self._clock()
            if now < self._silent_until:
                self._unsaid += 1
                return
            more = f" ({self._unsaid} more errors since the last line)" if self._unsaid else ""
            log.warning("%s failed, will try again: %s: %s%s", doing, type(error).__name__, error, more)
            self._silent_until = now + QUIET
            self._unsaid = 0


VOICE = Voice()


class Trouble:
    """One loop's trouble: exponential backoff with jitter, said by the voice that all loops share."""

    def __init__(self, doing: str, voice: Voice = VOICE) -> None:
        self._doing = doing
        self._delay = FIRST_DELAY
        self._voice = voice

    def delay(self, error: BaseException) -> float:
        """Seconds to wait before the next try."""
        self.say(error)
        delay, self._delay = self._delay, min(self._delay * 2, LONGEST_DELAY)
        return delay * random.uniform(0.5, 1.0)  # noqa: S311  jitter needs no secrecy

    def say(self, error: BaseException) -> None:
        """Log the error, unless one was logged just now, or it is an outage: the source itself says that, once."""
        if not isinstance(error, Unreachable):
            self._voice.say(self._doing, error)

    def over(self) -> None:
        """It answers again."""
        self._delay = FIRST_DELAY

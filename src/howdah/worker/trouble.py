"""A source that does not answer: how long to wait before the next try, and how often to say so."""

from __future__ import annotations

import logging
import random
import time

FIRST_DELAY = 0.1
LONGEST_DELAY = 5.0  # so that a worker is back within seconds of its database
QUIET = 1.0  # seconds between two lines about the same trouble

log = logging.getLogger(__name__)


class Trouble:
    """Exponential backoff with jitter, and at most one line a second about the errors."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._delay = FIRST_DELAY
        self._silent_until = 0.0
        self._unsaid = 0

    def delay(self, error: BaseException) -> float:
        """Seconds to wait before the next try."""
        self.say(error)
        delay, self._delay = self._delay, min(self._delay * 2, LONGEST_DELAY)
        return delay * random.uniform(0.5, 1.0)  # noqa: S311  jitter needs no secrecy

    def say(self, error: BaseException) -> None:
        """Log the error, unless one was logged just now."""
        now = time.monotonic()
        if now < self._silent_until:
            self._unsaid += 1
            return
        more = f" ({self._unsaid} more errors since the last line)" if self._unsaid else ""
        log.warning("%s failed, will try again: %s: %s%s", self._doing, type(error).__name__, error, more)
        self._silent_until = now + QUIET
        self._unsaid = 0

    def over(self) -> None:
        """It answers again."""
        self._delay = FIRST_DELAY

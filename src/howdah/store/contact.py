"""Whether PostgreSQL answers, as all connections of a worker find out together: tried by one, and said once."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from howdah.model.source_errors import NothingSent
from howdah.store.trouble import is_lost, one_line

# Seconds between two tries to connect while none succeeds: about one in two seconds for the whole process.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
# Seconds between two lines about troubles; doubled with each line, and from the start again after a minute without.
FIRST_QUIET, LONGEST_QUIET = 1.0, 10.0
FORGET = 60.0

log = logging.getLogger("howdah.worker")


class Contact:
    """Shared by threads. While no connection can be had, one caller at a time tries, and the others fail at once.

    So a process that waits for its database connects about every other second, however many loops it has. Every loop
    tries again by itself; the first connection that succeeds opens the way for all.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None  # when the trouble began
        self._refused: str | None = None  # why the last connection could not be had; None: it could
        self._trying = False
        self._next_try = 0.0
        self._pause = FIRST_PAUSE
        self._said = False
        self._quiet_until = float("-inf")
        self._quiet = FIRST_QUIET

    @contextmanager
    def connecting(self) -> Iterator[None]:
        """Around the making of a connection. Raises Unreachable at once where one has just failed."""
        self._begin()
        try:
            yield
        except Exception as error:
            self._failed(error)
            raise
        except BaseException:  # cancelled
            self._trying = False
            raise
        else:
            self._over()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Around the use of a connection."""
        try:
            yield
        except psycopg.Error as error:
            if is_lost(error):
                self._lost(error)
            raise
        else:
            if self._since is not None and self._refused is None:
                self._over()

    def _begin(self) -> None:
        with self._lock:
            if self._refused is None:
                return
            if self._trying or self._clock() < self._next_try:
                raise NothingSent(f"no connection to PostgreSQL, it was tried just now: {self._refused}")
            self._trying = True

    def _failed(self, error: Exception) -> None:
        with self._lock:
            self._trying = False
            self._refused = one_line(error)
            self._next_try = self._clock() + self._pause * random.uniform(0.5, 1.5)  # noqa: S311
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
            self._say(f"no connection to PostgreSQL: {self._refused}")

    def _lost(self, error: Exception) -> None:
        with self._lock:
            self._say(f"a connection to PostgreSQL was lost: {one_line(error)}")

    def _over(self) -> None:
        with self._lock:
            self._trying = False
            if self._said and self._since is not None:
                log.warning("PostgreSQL answers again after %.1f s", self._clock() - self._since)
            self._since = self._refused = None
            self._said = False
            self._pause = FIRST_PAUSE

    def _say(self, what: str) -> None:
        now = self._clock()
        if self._since is None:
            self._since = now
        if now < self._quiet_until:
            return
        if now > self._quiet_until + FORGET:
            self._quiet = FIRST_QUIET
        log.warning("%s", what)
        self._said = True
        self._quiet_until = now + self._quiet
        self._quiet = min(self._quiet * 2, LONGEST_QUIET)

"""Tells the user's observers; what they raise is logged and goes no further."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from howdah.worker.middleware import Observer

QUIET = 10.0

log = logging.getLogger(__name__)


class Observers:
    """Calls each observer in turn, in the worker's event loop: they must not block. False when there is none."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)
        self._quiet_until = 0.0
        self._unsaid = 0

    def __bool__(self) -> bool:
        return bool(self._observers)

    def tell(self, event: Any) -> None:
        """Tell all of them."""
        for observer in self._observers:
            try:
                observer(event)
            except BaseException:  # sys.exit in an observer ends nothing
                self._complain(event)

    def _complain(self, event: Any) -> None:
        """Say it, at most once in `QUIET` seconds: one that fails does so for thousands of jobs a second."""
        self._unsaid += 1
        now = time.monotonic()
        if now >= self._quiet_until:
            log.exception("an observer failed at %s, %d times since this was said", type(event).__name__, self._unsaid)
            self._quiet_until, self._unsaid = now + QUIET, 0

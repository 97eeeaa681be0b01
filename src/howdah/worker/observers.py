"""Tells the user's observers; what they raise is logged and goes no further."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from howdah.worker.middleware import Observer

log = logging.getLogger(__name__)


class Observers:
    """Calls each observer in turn, in the worker's event loop: they must not block. False when there is none."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = tuple(observers)

    def __bool__(self) -> bool:
        return bool(self._observers)

    def tell(self, event: Any) -> None:
        """Tell all of them."""
        for observer in self._observers:
            try:
                observer(event)
            except Exception:
                log.exception("an observer failed at %s", type(event).__name__)

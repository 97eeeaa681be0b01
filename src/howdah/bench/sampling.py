"""Looks again and again while something runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from howdah.bench.figures import Point
from howdah.model.errors import HowdahError

POLL = 0.05


class Stuck(HowdahError):
    """A measurement does not come to its end."""


class Sampler:
    """Calls `probe` every so many seconds in a thread; `points` are (seconds since the start, what it gave)."""

    def __init__(self, probe: Callable[[], float], every: float = 0.2) -> None:
        self._probe = probe
        self._every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="bench-sampler", daemon=True)
        self.points: list[Point] = []

    @property
    def values(self) -> list[float]:
        """What it gave, without the moments."""
        return [value for _, value in self.points]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        began = time.monotonic()
        while True:
            self.points.append((time.monotonic() - began, self._probe()))
            if self._over.wait(self._every):
                return


def wait_for(condition: Callable[[], object], what: Callable[[], str], patience: float = 60.0) -> None:
    """Wait until it holds. Raises Stuck with what is said then."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise Stuck(f"waited {patience:g} s for {what()}")
        time.sleep(POLL)

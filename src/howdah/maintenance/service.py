"""Reaper, promoter and pruner as every worker runs them: no leader, one pass per interval in the whole database."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from howdah.model.errors import Unreachable
from howdah.store import sweeping
from howdah.store.retention import DEFAULT
from howdah.store.source import Runs
from howdah.worker.trouble import Trouble

log = logging.getLogger("howdah.sweep")


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """`interval` and `pruning` in seconds between passes; `retention` of history; `hold`, the longest lease."""

    interval: float = 1.0
    pruning: float = 60.0
    retention: float = DEFAULT
    hold: float = 60.0


class SweepService:
    """Sweeps until it is cancelled; `beat` is called with each pass.

    Never raises: a pass that fails is logged, and the next one tries again.
    """

    def __init__(self, runs: Runs, settings: SweepSettings, beat: Callable[[], None] = lambda: None) -> None:
        self._runs = runs
        self._beat = beat
        self._settings = settings
        self._answered_at = float("-inf")
        self._reap_from = float("-inf")
        self._prune_at = float("-inf")
        self._trouble = Trouble("sweeping")

    async def run(self) -> None:
        """A pass per interval, with jitter so that workers do not march in step."""
        self._answered_at = time.monotonic()  # the worker has just registered
        while True:
            self._beat()
            await self.run_once()
            await asyncio.sleep(self._settings.interval * random.uniform(0.9, 1.1))  # noqa: S311

    async def run_once(self) -> None:
        """One pass, where it is this process's turn."""
        settings = self._settings
        try:
            # A little less than the interval, or the jitter would make every other turn come too early.
            if await self._runs.run(sweeping.take_turn("jobs", settings.interval * 0.8)):
                self._log(await self._runs.run_procedure(sweeping.sweep_jobs(reaping=self._may_reap())))
            if time.monotonic() >= self._prune_at:
                self._prune_at = time.monotonic() + settings.pruning
                if await self._runs.run(sweeping.take_turn("history", settings.pruning * 0.8)):
                    self._log(await self._runs.run_procedure(sweeping.sweep_history(settings.retention)))
            self._answered_at = time.monotonic()
        except Unreachable as error:
            # An outage expires many leases at once: their holders get one lease's time to come back. A lease has two
            # thirds of its length left at least, so that only those shorter than 1.5 times the outage can have expired.
            away = time.monotonic() - self._answered_at
            self._reap_from = time.monotonic() + min(settings.hold, 1.5 * away)
            self._trouble.say(error)
        except Exception as error:  # a sweep is repeated; nothing of it may end the worker
            self._trouble.say(error)

    def _may_reap(self) -> bool:
        return time.monotonic() >= self._reap_from

    def _log(self, counts: Mapping[str, int]) -> None:
        if any(counts.values()):
            log.info("swept: %s", ", ".join(f"{name} {count}" for name, count in counts.items() if count))

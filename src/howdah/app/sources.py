"""What a worker's source does beside claiming and settling: it sweeps, all the time or once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from howdah.client.kind import AnyKind
from howdah.maintenance.service import SweepService, SweepSettings
from howdah.model.job import Policy, WorkerInfo
from howdah.store import sweeping
from howdah.store.retention import retention
from howdah.store.source import PooledSource
from howdah.worker.settings import WorkerSettings

LONGEST_HOLD = 60.0  # seconds that leases wait for their holders after an outage


class SweepingSource(PooledSource):
    """A source with the sweep beside it. `beat` is called with each pass."""

    def __init__(
        self, dsn: str | None, settings: WorkerSettings, kinds: Collection[AnyKind], beat: Callable[[], None]
    ) -> None:
        super().__init__(dsn, queues=list(settings.queues), **_transactions(settings, kinds))
        hold = min(LONGEST_HOLD, max((kind.policy.lease for kind in kinds), default=LONGEST_HOLD))
        self._service = SweepService(self.connections, SweepSettings(hold=hold, retention=retention()), beat)
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        """Register, listen, and begin to sweep."""
        await super().open(worker, policies)
        self._sweeping = asyncio.create_task(self._service.run(), name="howdah-sweep")

    async def close(self) -> None:
        """End the sweep, and close."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping
        await super().close()


class SweptSource(PooledSource):
    """A source that sweeps once, as it opens."""

    def __init__(self, dsn: str | None, settings: WorkerSettings, kinds: Collection[AnyKind]) -> None:
        super().__init__(dsn, queues=list(settings.queues), **_transactions(settings, kinds))

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        """Register, listen, and sweep."""
        await super().open(worker, policies)
        await self.connections.run_procedure(sweeping.sweep(retention()))


def _transactions(settings: WorkerSettings, kinds: Collection[AnyKind]) -> dict[str, int]:
    """How many handlers may be in a transaction at once, of each sort; none where no kind is of it."""
    slots = sum(settings.queues.values())
    return {
        "slots": slots if any(kind.is_async for kind in kinds) else 0,
        "threads": min(slots, settings.thread_count) if not all(kind.is_async for kind in kinds) else 0,
    }

"""The public Worker: a work loop on PostgreSQL, with the sweep beside it, for a process or a host's event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from howdah.client.discovery import handlers_of
from howdah.maintenance.service import SweepService, SweepSettings
from howdah.model.errors import InvalidOption
from howdah.model.job import Drained, Policy, WorkerInfo
from howdah.model.limits import Seconds, check_seconds, check_whole
from howdah.store import sweeping
from howdah.store.source import PooledSource
from howdah.worker.handler import Handler
from howdah.worker.loop import WorkLoop
from howdah.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from howdah.client.kind import AnyKind
    from howdah.worker.middleware import Middleware, Observer

T = TypeVar("T")

# timeout(1) and many a supervisor signal a process and then its group: one wish, not two.
SAME_WISH = 0.5
LEFT_OVERS = 0.2  # seconds for tasks that do not end when they are cancelled

log = logging.getLogger("howdah.worker")


class Worker:
    """Runs the jobs of its queues with the handlers it is given: modules, whose kinds it takes, or kinds.

    `dsn`: None for `HOWDAH_DSN`. `queues`: queue → slots, by default ten slots on `default`. `grace` and `poll` are
    seconds. `threads`: how many sync handlers run at once, by default as many as there are slots. `lifespan`,
    `middleware` and `observers` come with a later release.

    Raises InvalidOption, and TypeError for what is neither a module nor a kind.
    """

    def __init__(
        self,
        dsn: str | None = None,
        kinds: Iterable[ModuleType | AnyKind] = (),
        *,
        queues: Mapping[str, int] | None = None,
        lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None,
        middleware: Sequence[Middleware] = (),
        observers: Sequence[Observer] = (),
        grace: Seconds = 30.0,
        poll: Seconds = 1.0,
        threads: int | None = None,
    ) -> None:
        for name, value in (("lifespan", lifespan), ("middleware", middleware), ("observers", observers)):
            if value:
                raise InvalidOption(name, value, "comes with a later release")
        self._dsn = dsn
        self._kinds = handlers_of(kinds)
        self._settings = WorkerSettings(
            queues=dict(queues) if queues is not None else {"default": 10},
            poll=check_seconds("poll", poll),
            grace=check_seconds("grace", grace),
            threads=threads,
        )
        self._work: WorkLoop | None = None
        self._stopping = False
        self._stop_asked_at: float | None = None

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, and then stop gracefully; a second signal abandons what runs. Main thread only.

        Raises Unreachable or SchemaMismatch at the start; later the database may come and go.
        """
        _run_to_the_end(self._with_signals(self.run_async()))

    async def run_async(self) -> None:
        """Work in the running event loop, without signal handlers; cancelling it is a graceful stop."""
        work = self._loop(_SweepingSource(self._dsn, self._settings, self._policies()))
        slots = ", ".join(f"{queue}:{count}" for queue, count in self._settings.queues.items())
        log.info("serving queues %s with kinds %s", slots, ", ".join(self._kinds) or "none")
        await work.run()

    def drain(self, *, limit: int | None = None, timeout: Seconds | None = None) -> Drained:
        """Sweep once, run what is available, and return: at most `limit` attempts, for `timeout` seconds.

        It never waits for a backoff. In the main thread SIGTERM and SIGINT stop it, as they stop `run`.
        """
        work = self.drain_async(limit=limit, timeout=timeout)
        in_main_thread = threading.current_thread() is threading.main_thread()
        return _run_to_the_end(self._with_signals(work) if in_main_thread else work)

    async def drain_async(self, *, limit: int | None = None, timeout: Seconds | None = None) -> Drained:
        """As `drain`, awaited."""
        limit = None if limit is None else check_whole("limit", limit, 1, 2**31)
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        for kind in self._kinds.values():
            if kind.policy.queue not in self._settings.queues:
                log.warning("kind %s goes to queue %s, which is not drained here", kind.name, kind.policy.queue)
        return await self._loop(_SweptSource(self._dsn, self._settings)).drain(limit, seconds)

    def stop(self) -> None:
        """Stop gracefully. May be called from any thread, also before the worker runs."""
        self._stopping = True
        if self._work is not None:
            self._work.stop()

    async def _with_signals(self, work: Coroutine[Any, Any, T]) -> T:
        loop = asyncio.get_running_loop()
        os.register_at_fork(after_in_child=_forget_signals)
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        for number in before:
            loop.add_signal_handler(number, self._signalled, number)
        try:
            return await work
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _signalled(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self._stop_asked_at is None:
            self._stop_asked_at = now
            log.info(
                "%s: stopping, at most %g s; a second signal abandons what runs", number.name, self._settings.grace
            )
            self.stop()
        elif self._work is not None and now - self._stop_asked_at >= SAME_WISH:
            log.warning("%s again: what runs is abandoned, its leases expire", number.name)
            self._work.abandon()

    def _loop(self, source: PooledSource) -> WorkLoop:
        for kind in self._kinds.values():
            kind.resolve()
        self._work = WorkLoop(
            source, self._handlers(), self._settings, worker=_worker_info(self._settings), policies=self._policies()
        )
        if self._stopping:
            self._work.stop()
        return self._work

    def _policies(self) -> list[Policy]:
        return [kind.policy for kind in self._kinds.values()]

    def _handlers(self) -> dict[str, Handler]:
        return {name: _handler(kind) for name, kind in self._kinds.items()}


class _SweepingSource(PooledSource):
    """A source with the sweep beside it."""

    def __init__(self, dsn: str | None, settings: WorkerSettings, policies: Sequence[Policy]) -> None:
        super().__init__(dsn, slots=sum(settings.queues.values()), queues=list(settings.queues))
        hold = min(60.0, max((policy.lease for policy in policies), default=60.0))
        self._service = SweepService(self.connections, SweepSettings(hold=hold))
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        await super().open(worker, policies)
        self._sweeping = asyncio.create_task(self._service.run(), name="howdah-sweep")

    async def close(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping
        await super().close()


class _SweptSource(PooledSource):
    """A source that sweeps once, as it opens."""

    def __init__(self, dsn: str | None, settings: WorkerSettings) -> None:
        super().__init__(dsn, slots=sum(settings.queues.values()), queues=list(settings.queues))

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        await super().open(worker, policies)
        await self.connections.run_procedure(sweeping.sweep(SweepSettings().retention))


def _run_to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, which would wait for ever for a handler that swallows its cancellation."""
    if _loop_is_running():
        work.close()
        raise RuntimeError("an event loop is running here: await worker.run_async() or worker.drain_async() instead")
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=LEFT_OVERS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _forget_signals() -> None:
    """A process that a handler forks must die of its signals, and not pass them on to the worker's loop."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _handler(kind: AnyKind) -> Handler:
    return Handler(
        name=kind.name,
        function=kind.by_name,
        is_async=kind.is_async,
        takes_context=kind.takes_context,
        decode=lambda args, follow_up: kind.decode(args, drop_unknown=follow_up),
    )


def _worker_info(settings: WorkerSettings) -> WorkerInfo:
    # New for every start: a restarted container must not inherit the leases of its namesake.
    host = socket.gethostname()
    name = f"{host[:150]}-{os.getpid()}-{secrets.token_hex(4)}"
    return WorkerInfo(name, host, os.getpid(), metadata.version("howdah"), settings.queues)

"""The public Worker: a work loop on PostgreSQL, with the sweep beside it, for a process or a host's event loop."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import metadata
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from howdah.app.process import Signals, run_to_the_end
from howdah.app.sources import SweepingSource, SweptSource
from howdah.client.discovery import handlers_of
from howdah.model.job import Drained, Policy, WorkerInfo
from howdah.model.limits import Seconds, check_seconds, check_whole
from howdah.model.nearest import nearest
from howdah.store.source import PooledSource
from howdah.worker.handler import Handler
from howdah.worker.health import Health, Pulses
from howdah.worker.loop import WorkLoop
from howdah.worker.middleware import Seams
from howdah.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from howdah.client.kind import AnyKind
    from howdah.worker.middleware import Middleware, Observer

T = TypeVar("T")

LONGEST_SWEEP = 600.0  # seconds: a pass over millions of due jobs is no reason to restart a worker

log = logging.getLogger("howdah.worker")


class Worker:
    """Runs the jobs of its queues with the handlers it is given: modules, whose kinds it takes, or kinds.

    `dsn`: None for `HOWDAH_DSN`. `queues`: queue → slots, by default ten slots on `default`. `grace` and `poll` are
    seconds. `threads`: how many sync handlers run at once, by default as many as there are slots. `lifespan` makes an
    async context manager that is entered before the first claim and left after the last handler. `middleware` wraps
    every attempt, the first one outermost; `observers` are told what happens, as one of `howdah.events`.

    Raises InvalidOption, and TypeError for what is neither a module nor a kind, or cannot be called.
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
        _check_callable(lifespan=[lifespan] if lifespan is not None else [], middleware=middleware, observers=observers)
        self._dsn = dsn
        self._kinds = handlers_of(kinds)
        self._settings = WorkerSettings(
            queues=dict(queues) if queues is not None else {"default": 10},
            poll=check_seconds("poll", poll),
            grace=check_seconds("grace", grace),
            threads=threads,
        )
        self._seams = Seams(tuple(middleware), tuple(observers), lifespan)
        self._work: WorkLoop | None = None
        self._stopping = False

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, and then stop gracefully; a second signal abandons what runs. Main thread only.

        The process is the worker's: should a handler hang so that the stop cannot end, then the process does, with
        status 1, before the grace period is over by 2 seconds.

        Raises Unreachable or SchemaMismatch at the start; later the database may come and go.
        """
        with self._signals():
            run_to_the_end(self.run_async())

    async def run_async(self) -> None:
        """Work in the running event loop, without signal handlers; cancelling it is a graceful stop."""
        pulses = Pulses()
        beat = pulses.of("sweep", LONGEST_SWEEP).beat
        work = self._loop(SweepingSource(self._dsn, self._settings, self._kinds.values(), beat), pulses)
        slots = ", ".join(f"{queue}:{count}" for queue, count in self._settings.queues.items())
        log.info("serving queues %s with kinds %s", slots, ", ".join(self._kinds) or "none")
        await work.run()

    def drain(self, *, limit: int | None = None, timeout: Seconds | None = None) -> Drained:
        """Sweep once, run what is available, and return: at most `limit` attempts, for `timeout` seconds.

        It never waits for a backoff. In the main thread SIGTERM and SIGINT stop it, as they stop `run`.
        """
        work = self.drain_async(limit=limit, timeout=timeout)
        if threading.current_thread() is not threading.main_thread():
            return run_to_the_end(work)
        with self._signals():
            return run_to_the_end(work)

    async def drain_async(self, *, limit: int | None = None, timeout: Seconds | None = None) -> Drained:
        """As `drain`, awaited."""
        limit = None if limit is None else check_whole("limit", limit, 1, 2**31)
        seconds = None if timeout is None else check_seconds("timeout", timeout)
        source = SweptSource(self._dsn, self._settings, self._kinds.values())
        return await self._loop(source, Pulses()).drain(limit, seconds)

    def stop(self) -> None:
        """Stop gracefully. May be called from any thread, also before the worker runs."""
        self._stopping = True
        if self._work is not None:
            self._work.stop()

    def grace_left(self) -> float:
        """How many seconds of the grace period are left; all of it before a stop."""
        return self._settings.grace if self._work is None else self._work.grace_left()

    def health(self) -> Health:
        """How it is: which of its loops make no progress, and whether it takes work. From any thread."""
        return Health("starting") if self._work is None else self._work.health()

    def _signals(self) -> Signals:
        return Signals(self._settings.grace, self.stop, self._abandon)

    def _abandon(self) -> None:
        if self._work is not None:
            self._work.abandon()

    def _loop(self, source: PooledSource, pulses: Pulses) -> WorkLoop:
        for kind in self._kinds.values():
            kind.resolve()
        self._warn_of_queues()
        self._work = WorkLoop(
            source,
            self._handlers(),
            self._settings,
            worker=_worker_info(self._settings, list(self._kinds)),
            policies=self._policies(),
            seams=self._seams,
            pulses=pulses,
        )
        if self._stopping:
            self._work.stop()
        return self._work

    def _warn_of_queues(self) -> None:
        served = self._settings.queues
        used = {kind.policy.queue for kind in self._kinds.values()}
        for queue in sorted(used - set(served)):
            kinds = ", ".join(kind.name for kind in self._kinds.values() if kind.policy.queue == queue)
            log.warning("queue %s is not served here, where jobs of %s go: add it, -q %s:10", queue, kinds, queue)
        for queue in served:
            if self._kinds and queue not in used and (hint := nearest(queue, used)):
                log.warning("no kind of this worker goes to queue %s%s", queue, hint)

    def _policies(self) -> list[Policy]:
        return [kind.policy for kind in self._kinds.values()]

    def _handlers(self) -> dict[str, Handler]:
        return {name: _handler(kind) for name, kind in self._kinds.items()}


def _check_callable(**given: Sequence[Any]) -> None:
    for name, values in given.items():
        for value in values:
            if not callable(value):
                raise TypeError(f"{name}: {value!r} cannot be called")


def _handler(kind: AnyKind) -> Handler:
    return Handler(
        name=kind.name,
        function=kind.by_name,
        is_async=kind.is_async,
        takes_context=kind.takes_context,
        decode=lambda args, follow_up: kind.decode(args, drop_unknown=follow_up),
        timeout=kind.patience.timeout,
        stall_timeout=kind.patience.stall_timeout,
    )


def _worker_info(settings: WorkerSettings, kinds: Sequence[str]) -> WorkerInfo:
    # New for every start: a restarted container must not inherit the leases of its namesake.
    host = socket.gethostname()
    name = f"{host[:150]}-{os.getpid()}-{secrets.token_hex(4)}"
    return WorkerInfo(name, host, os.getpid(), metadata.version("howdah"), settings.queues, kinds)

"""The sweep that runs in every worker: one per interval in the database, and patient after an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import psycopg
import pytest

from howdah import Client, JobState, Unreachable
from howdah.maintenance import service
from howdah.maintenance.service import SweepService, SweepSettings
from howdah.store.async_connections import AsyncConnections
from howdah.store.drivers import on_psycopg, run
from howdah.store.sweeping import take_turn
from tests.support.held import Connect, together


def test_of_many_processes_one_has_the_turn(connect: Connect) -> None:
    connections = [connect() for _ in range(8)]
    for _ in range(5):
        turns = together(*(lambda c=c: run(on_psycopg(c), take_turn("t", 3600)) for c in connections))
        assert sum(turn is True for turn in turns) <= 1
    assert run(on_psycopg(connections[0]), take_turn("t", 0)) is True
    assert run(on_psycopg(connections[0]), take_turn("t", 3600)) is False


def test_a_turn_that_was_written_in_the_future_holds_nobody_up(conn: psycopg.Connection) -> None:
    conn.execute("INSERT INTO howdah.sweeps VALUES ('t', '2999-01-01')")
    assert run(on_psycopg(conn), take_turn("t", 3600)) is True


class Away:
    """Runs that fail until `back`."""

    def __init__(self, runs: AsyncConnections, error: Exception) -> None:
        self._runs = runs
        self._error = error
        self.back = False

    async def run(self, operation: Generator[Any, Any, Any]) -> Any:
        if not self.back:
            raise self._error
        return await self._runs.run(operation)

    async def run_procedure(self, procedure: Generator[Any, Any, Any]) -> Any:
        return await self._runs.run_procedure(procedure)

    transact = run


@pytest.mark.parametrize(("error", "state"), [(Unreachable("away"), JobState.RUNNING), (OSError(), JobState.SCHEDULED)])
def test_only_an_outage_gives_the_holders_time_to_come_back(
    dsn: str, error: Exception, state: JobState, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(service.time, "monotonic", lambda: now)

    async def sweep_after_an_outage() -> JobState:
        nonlocal now
        connections = AsyncConnections(dsn)
        away = Away(connections, error)
        service = SweepService(away, SweepSettings(interval=0.0, hold=60.0))
        with Client(dsn) as client:
            job = client.enqueue("x", {})
            client.claim(worker="w", lease=0.001)
            await service.run_once()
            away.back = True
            await service.run_once()
            now += 1
            await service.run_once()
            first = client.get(job.id).state
            now += 60
            await service.run_once()
            assert client.get(job.id).state in (JobState.SCHEDULED, JobState.AVAILABLE)
        await connections.close()
        return first

    assert asyncio.run(sweep_after_an_outage()) is state

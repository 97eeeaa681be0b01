"""A database that has forgotten its workers, as one that was restored has, hears of them and of their kinds again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from howdah import Unreachable
from howdah.model.job import Policy, Vitals, WorkerInfo
from howdah.store.source import PooledSource

KNOWN = "SELECT (SELECT count(*) FROM howdah.workers), (SELECT count(*) FROM howdah.kinds WHERE lease = 7)"


@pytest.fixture
def source(dsn: str, conn: psycopg.Connection[Any]) -> Iterator[PooledSource]:
    """A worker's source whose worker and kinds the database has forgotten."""
    made = PooledSource(dsn, slots=1, queues=["default"])

    async def open_and_close() -> None:
        await made.open(WorkerInfo("w", "here", 1, "0", {"default": 1}), [Policy("k", lease=7.0)])
        await made.connections.close()
        await made._bell.close()

    asyncio.run(open_and_close())
    assert conn.execute(KNOWN).fetchone() == (1, 1)
    conn.execute("DELETE FROM howdah.workers; DELETE FROM howdah.kinds")
    yield made
    made._keeper.close()


def test_a_heartbeat_writes_the_worker_and_its_kinds_again(source: PooledSource, conn: psycopg.Connection[Any]) -> None:
    source.beat(Vitals())
    assert conn.execute(KNOWN).fetchone() == (1, 1)


@pytest.mark.parametrize("lost", [1, 2, 3], ids=["its beat", "its partitions", "its kinds"])
def test_also_when_an_answer_is_lost_on_the_way(
    source: PooledSource, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    answers, run = iter(range(1, 100)), source._keeper.run

    def losing(operation: Any) -> Any:
        if next(answers) < lost:
            return run(operation)
        if lost == 1:
            run(operation)  # it was committed all the same
        raise Unreachable("the answer is lost")

    with monkeypatch.context() as patched:
        patched.setattr(source._keeper, "run", losing)
        with pytest.raises(Unreachable):
            source.beat(Vitals())
    assert conn.execute(KNOWN).fetchone() == (1, 0)
    source.beat(Vitals())
    assert conn.execute(KNOWN).fetchone() == (1, 1)

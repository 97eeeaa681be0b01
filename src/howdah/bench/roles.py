"""What the processes of a benchmark do: each gets a spec and a gate, and gives an answer."""

from __future__ import annotations

import asyncio
import contextlib
import cProfile
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from howdah import AsyncClient, Client, Complete, Worker
from howdah.bench import kinds, raw
from howdah.bench.ledger import Ledger

Gate: TypeAlias = Callable[[], None]
Spec: TypeAlias = Mapping[str, Any]


def work(spec: Spec, gate: Gate) -> None:
    """A worker as anybody would run it. Its lifespan waits at the gate."""
    kinds.keep_ledger(Ledger(Path(spec["ledger"]), spec["jobs"], moments=spec["moments"]))

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        await asyncio.to_thread(gate)
        yield

    worker = Worker(kinds=kinds.KINDS.values(), queues=spec["queues"], lifespan=lifespan, grace=spec["grace"])
    if spec["profile"] is None:
        worker.run()
        return
    profile = cProfile.Profile()
    try:
        profile.runcall(worker.run)
    finally:
        profile.dump_stats(Path(spec["profile"]) / f"worker-{os.getpid()}.pstats")


def enqueue(spec: Spec, gate: Gate) -> dict[str, Any]:
    """Enqueue jobs one by one, each in a commit of its own: as fast as it goes, or at a rate."""
    kind, text = kinds.KINDS[spec["kind"]], kinds.text_of(spec["payload"])
    with Client() as client:
        client.resume("default")  # connect now
        gate()
        return _paced(spec, lambda n: kind.enqueue(client, n, text))


def enqueue_async(spec: Spec, gate: Gate) -> dict[str, Any]:
    """As `enqueue`, awaited."""
    kind, text = kinds.KINDS[spec["kind"]], kinds.text_of(spec["payload"])

    async def run() -> dict[str, Any]:
        async with AsyncClient() as client:
            await client.resume("default")
            gate()
            began = time.monotonic()
            for n in _numbers(spec):
                await kind.enqueue(client, n, text)
            return {"began": began, "ended": time.monotonic(), "sent": {}}

    return asyncio.run(run())


def claim(spec: Spec, gate: Gate) -> dict[str, int]:
    """Claim and complete batches through the client, for so many seconds."""
    limit, claimed, over, short = spec["limit"], 0, 0, 0
    with Client() as client:
        client.resume("default")
        gate()
        end = time.monotonic() + spec["seconds"]
        while time.monotonic() < end:
            jobs = client.claim(limit=limit, worker=spec["worker"])
            over += len(jobs) > limit
            short += len(jobs) < limit
            claimed += len(jobs)
            lost = client.settle_many([(job.lease, Complete()) for job in jobs])
            assert not lost, lost
    return {"claimed": claimed, "over": over, "short": short}


def raw_enqueue(spec: Spec, gate: Gate) -> dict[str, Any]:
    """As `enqueue`, by a bare INSERT."""
    with raw.inserting(spec["kind"], spec["payload"], notify=spec["notify"]) as insert:
        gate()
        return _paced(spec, insert)


def _paced(spec: Spec, send: Callable[[int], object]) -> dict[str, Any]:
    sent: dict[int, float] = {}
    began = time.monotonic()
    for place, n in enumerate(_numbers(spec)):
        if spec["rate"]:
            time.sleep(max(0.0, began + place / spec["rate"] - time.monotonic()))
            sent[n] = time.monotonic()
        send(n)
    return {"began": began, "ended": time.monotonic(), "sent": sent}


def _numbers(spec: Spec) -> range:
    return range(spec["first"], spec["first"] + spec["jobs"])


ROLES: dict[str, Callable[[Spec, Gate], Any]] = {
    "work": work,
    "enqueue": enqueue,
    "enqueue async": enqueue_async,
    "claim": claim,
    "raw drain": raw.drain,
    "raw effects": raw.effects,
    "raw enqueue": raw_enqueue,
    "raw listen": raw.listen,
}

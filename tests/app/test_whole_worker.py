"""A worker on PostgreSQL: limits on time, seams, several queues, a host's event loop, and flat memory."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from howdah import AsyncClient, ClaimedJob, Client, Context, JobState, Retry, Worker, events, job
from tests.support.held import wait_until

SOON = Retry(max_attempts=2, base=0.0, jitter=0.0)


@job(timeout=0.1, retry=SOON)
async def endless() -> None:
    await asyncio.Event().wait()


@job(timeout=0.1, retry=SOON)
def until_told(ctx: Context) -> str:
    while ctx.cancel_requested is None:
        threading.Event().wait(0.01)
    return "too late"


@job(stall_timeout=0.2, lease=0.6, on_crash="unknown")
async def silent() -> None:
    await asyncio.Event().wait()


@job(stall_timeout=2.0, lease=0.6)
async def steady(ctx: Context) -> str:
    for step in range(30):
        ctx.progress(step / 30)
        await asyncio.sleep(0.1)
    return "kept"


@job(timeout=0.2, retry=Retry(max_attempts=1))
def writing_for_ever(ctx: Context) -> None:
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.written VALUES (1)")
        while ctx.cancel_requested is None:
            threading.Event().wait(0.01)


@job
async def nothing() -> None: ...


@job
def nothing_in_a_thread() -> None: ...


@job
async def hello(name: str) -> str:
    return f"hello {name}"


@job
def leave_things(ctx: Context) -> None:
    with ctx.transaction() as connection:
        connection.execute("CREATE TEMP TABLE left_behind (n integer)")
        connection.execute("SELECT pg_advisory_lock(42)")
        connection.execute("LISTEN left_behind")
        connection.execute("SET work_mem = '1MB'")


@job
def find_things(ctx: Context) -> list[Any]:
    with ctx.transaction() as connection:
        row = connection.execute(
            "SELECT to_regclass('pg_temp.left_behind')::text, (SELECT count(*) FROM pg_listening_channels()),"
            " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),"
            " current_setting('work_mem') <> '1MB'"
        ).fetchone()
    return list(row or ())


async def run_until(worker: Worker, ended: Coroutine[Any, Any, Any]) -> Any:
    working = asyncio.create_task(worker.run_async())
    try:
        return await asyncio.wait_for(ended, 20)
    finally:
        worker.stop()
        await working


def worked(worker: Worker, dsn: str, *jobs: int) -> list[Any]:
    """The jobs as they have ended."""

    async def all_ended() -> list[Any]:
        async with AsyncClient(dsn) as client:
            return [await client.wait(job_id, 15) for job_id in jobs]

    return asyncio.run(run_until(worker, all_ended()))


@pytest.mark.parametrize("kind", [endless, until_told])
def test_a_timeout_fails_the_attempt_and_counts(dsn: str, kind: Any) -> None:
    with Client(dsn) as client:
        timed = kind.enqueue(client).id
    (ended,) = worked(Worker(dsn, [kind], poll=0.05), dsn, timed)
    assert (ended.state, ended.attempt, ended.excused) == (JobState.DISCARDED, 2, 0)
    assert [error.event for error in ended.errors] == ["timeout", "timeout"]
    assert ended.errors[0].message == "its handler took longer than 0.1 s"


def test_a_timeout_rolls_back_what_the_handler_wrote(dsn: str, conn: psycopg.Connection) -> None:
    conn.execute("DROP TABLE IF EXISTS public.written; CREATE TABLE public.written (n integer)")
    with Client(dsn) as client:
        timed = writing_for_ever.enqueue(client).id
    (ended,) = worked(Worker(dsn, [writing_for_ever], poll=0.05), dsn, timed)
    assert ended.state is JobState.DISCARDED
    assert conn.execute("SELECT count(*) FROM public.written").fetchone() == (0,)


def test_silence_lets_the_lease_end_and_progress_keeps_it(dsn: str) -> None:
    with Client(dsn) as client:
        stalled, kept = silent.enqueue(client).id, steady.enqueue(client).id
    lost, done = worked(Worker(dsn, [silent, steady], poll=0.05), dsn, stalled, kept)
    assert (lost.state, lost.crashes, lost.settled_by) == (JobState.UNKNOWN, 1, "reaper")
    assert (done.state, done.attempt, done.result) == (JobState.COMPLETED, 1, "kept")
    assert done.progress["fraction"] > 0.3


def test_seams_on_a_real_worker(dsn: str) -> None:
    async def greeting(job: ClaimedJob, call_next: Any) -> Any:
        return {"was": await call_next(job), "by": lived}

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        lived.append("begun")
        yield
        lived.append("over")

    lived: list[str] = []
    told: list[Any] = []
    with Client(dsn) as client:
        greeted = hello.enqueue(client, "you").id
        worker = Worker(dsn, [hello], middleware=[greeting], observers=[told.append], lifespan=lifespan)
        assert worker.drain().completed == 1
        assert client.get(greeted).result == {"was": "hello you", "by": ["begun"]}
    assert lived == ["begun", "over"]
    settled = [event for event in told if isinstance(event, events.JobSettled)]
    assert [(event.job.id, event.state) for event in settled] == [(greeted, JobState.COMPLETED)]


@pytest.mark.parametrize("seam", ["lifespan", "middleware", "observers"])
def test_what_cannot_be_called_is_refused_at_the_door(dsn: str, seam: str) -> None:
    wrong: Any = 3 if seam == "lifespan" else [3]
    with pytest.raises(TypeError, match=f"{seam}: 3 cannot be called"):
        Worker(dsn, [hello], **{seam: wrong})


def test_a_full_queue_starves_no_other(dsn: str) -> None:
    """10,000 jobs of one queue do not hold up one of another, served by the same worker."""
    with Client(dsn) as client:
        client.load([nothing.options(queue="bulk").new() for _ in range(10_000)])
        urgent = hello.options(queue="urgent").enqueue(client, "you").id
    worker = Worker(dsn, [nothing, hello], queues={"bulk": 50, "urgent": 1})
    (ended,) = worked(worker, dsn, urgent)
    assert ended.state is JobState.COMPLETED
    with Client(dsn) as client:
        left = client.claim(["bulk"], limit=10, worker="w")
    assert len(left) == 10


def test_it_works_in_a_hosts_event_loop_and_leaves_the_rest_alone(dsn: str) -> None:
    async def host() -> None:
        async def other() -> None:
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        ticks: list[int] = []
        beside = asyncio.create_task(other())
        working = asyncio.create_task(Worker(dsn, [hello], poll=0.05).run_async())
        async with AsyncClient(dsn) as client:
            greeted = await hello.enqueue(client, "you")
            assert (await client.wait(greeted.id, 15)).result == "hello you"
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working
            assert not beside.done()
            assert ticks
            beside.cancel()

    asyncio.run(host())


def _now() -> tuple[int, int, int]:
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_memory_descriptors_and_threads_stay_flat(dsn: str) -> None:
    """Reliability: at most 1 MiB more of resident memory for 100,000 jobs, here over 20,000."""

    def run(count: int) -> None:
        with Client(dsn) as client:
            client.load([kind.new() for kind in (nothing, nothing_in_a_thread) for _ in range(count // 2)])
        assert Worker(dsn, [nothing, nothing_in_a_thread], queues={"default": 50}).drain().completed == count

    for _ in range(2):
        run(5_000)  # pools, plans and caches
    before = _now()
    for _ in range(4):
        run(5_000)

    def settled() -> bool:
        return _now()[1:] <= before[1:]

    wait_until(settled, what="descriptors and threads to be as before")
    assert _now()[0] - before[0] < 2 * 2**20


def test_what_a_handler_leaves_on_its_connection_does_not_reach_the_next_one(dsn: str) -> None:
    with Client(dsn) as client:
        leave_things.options(priority=-1).enqueue(client)
        found = find_things.enqueue(client).id
        assert Worker(dsn, [leave_things, find_things], queues={"default": 1}).drain().completed == 2
        assert client.get(found).result == [None, 0, 0, True]


def test_a_worker_says_which_of_its_kinds_it_does_not_serve(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    @job(queue="mail")
    async def send() -> None: ...

    Worker(dsn, [send, hello], queues={"mial": 2}).drain()
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "queue default is not served here, where jobs of hello go: add it, -q default:10" in said
    assert "queue mail is not served here, where jobs of send go: add it, -q mail:10" in said
    assert "no kind of this worker goes to queue mial, did you mean 'mail'?" in said

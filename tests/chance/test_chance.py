"""Random operations by many clients and workers, with kills and rollbacks; then the invariants, by SQL.

One seed decides what the clients do and who is killed: HOWDAH_TEST_SEED. HOWDAH_TEST_SECONDS makes it longer.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from threading import Thread

import psycopg

from howdah import Client, Worker
from howdah.store.drivers import on_psycopg, run
from howdah.store.workers import register_kinds
from tests.chance import kinds
from tests.chance.invariants import INVARIANTS
from tests.chance.producers import Memory, Producer
from tests.journey.conftest import HOWDAH, Process
from tests.support.held import wait_until

SECONDS = float(os.environ.get("HOWDAH_TEST_SECONDS", "30"))
PRODUCERS, WORKERS = 3, 3
# One of the workers' connections, whichever the draw falls on. The clients keep theirs, so that their answers count.
CUT = """
    WITH theirs AS (
        SELECT pid, row_number() OVER (ORDER BY pid) AS n, count(*) OVER () AS total FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'howdah-worker'
    )
    SELECT pg_terminate_backend(pid) FROM theirs WHERE n = 1 + floor(%s * total)
"""


def test_nothing_is_lost_or_done_twice_whatever_happens(cloned_dsn: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("HOWDAH_TEST_SEED") or random.randrange(2**32))
    print(f"HOWDAH_TEST_SEED={seed}")
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        conn.execute((Path(__file__).parent / "evidence.sql").read_bytes())
        policies = [kind.policy for kind in (kinds.plain, kinds.paid, kinds.once, kinds.landed)]
        run(on_psycopg(conn), register_kinds(policies, "test"))  # a kind that nobody knows has the defaults
        memories = _run(cloned_dsn, seed, tmp_path)
        _drain(cloned_dsn, conn)
        kept = set().union(*(memory.kept for memory in memories))
        undone = set().union(*(memory.undone for memory in memories))
        there = {row[0] for row in conn.execute("SELECT id FROM howdah.all_jobs")}
        assert sum(memory.operations for memory in memories) > 20 * SECONDS, "too little happened to say anything"
        assert conn.execute("SELECT sum(crashes) > 0 FROM howdah.all_jobs").fetchone() == (True,)
        assert kept - there == set(), f"I1: lost, seed {seed}"
        assert undone & there == set(), f"I2: rolled back and there, seed {seed}"
        broken = {name: rows for name, query in INVARIANTS.items() if (rows := conn.execute(query).fetchmany(5))}
        assert broken == {}, f"seed {seed}"


def _run(dsn: str, seed: int, folder: Path) -> list[Memory]:
    draw = random.Random(seed)
    producers = [Producer(dsn, draw.randrange(2**32)) for _ in range(PRODUCERS)]
    deadline = time.monotonic() + SECONDS
    errors: list[BaseException] = []

    def produce(producer: Producer) -> None:
        try:
            while time.monotonic() < deadline:
                producer.turn()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=produce, args=(producer,)) for producer in producers]
    for thread in threads:
        thread.start()
    try:
        with psycopg.connect(dsn, autocommit=True) as conn:
            _disturb(dsn, conn, draw, deadline, folder)
    finally:
        for thread in threads:
            thread.join()
    for producer in producers:
        producer.close()
    if errors:
        raise errors[0]
    return [producer.memory for producer in producers]


def _disturb(dsn: str, conn: psycopg.Connection, draw: random.Random, deadline: float, folder: Path) -> None:
    """Workers that are killed and stopped at random, and the connections of all cut now and then."""
    command = [*HOWDAH, "worker", "-m", "tests.chance.kinds", "-q", "default:4", "--poll", "0.1", "--grace", "2"]
    started = 0

    def start() -> Process:
        nonlocal started
        started += 1
        return Process(command, f"{dsn} application_name=howdah-worker", folder / f"worker-{started}.log")

    workers = [start() for _ in range(WORKERS)]
    stopped: set[int] = set()
    try:
        while (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, draw.uniform(0.3, 1.5)))  # the disturbance itself, not a wait for something
            if draw.random() < 0.3:
                conn.execute(CUT, [draw.random()])
                continue
            place = draw.randrange(WORKERS)
            worker = workers[place]
            if worker.pid in stopped:
                worker.signal(signal.SIGCONT)
                stopped.discard(worker.pid)
            elif worker.process.poll() is not None:
                workers[place] = start()
            else:
                number = draw.choice([signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
                worker.signal(number)
                if number is signal.SIGSTOP:
                    stopped.add(worker.pid)
    finally:
        for worker in workers:
            worker.end()


def _drain(dsn: str, conn: psycopg.Connection) -> None:
    """Run what is left to its end; what is unknown stays for a person."""
    os.environ["HOWDAH_TEST_HARMLESS"] = "1"  # this process has to survive
    worker = Worker(dsn, [kinds], queues={"default": 10}, poll=0.05)

    def over() -> bool:
        with Client(dsn) as client:
            client.sweep()
        worker.drain()
        return conn.execute("SELECT 1 FROM howdah.jobs WHERE state <> 'unknown' LIMIT 1").fetchone() is None

    wait_until(over, timeout=60, what="every job to end")

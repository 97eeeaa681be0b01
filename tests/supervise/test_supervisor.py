"""A supervisor with real processes, which are killed, hang and refuse to run. Nothing here needs a database."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah.embedded.processes import is_alive
from tests.supervise.stub import GRACE
from tests.support.held import wait_until

TOP = Path(__file__).parents[2]


class Supervised:
    """A supervisor and what it has written."""

    def __init__(self, count: int, what: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.supervise.stub", str(count), what], cwd=TOP, stderr=out, stdout=out
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def pids(self) -> list[int]:
        """Of all processes ever started, in that order."""
        return [int(pid) for pid in re.findall(r"pid (\d+)\) started", self.log)]

    @property
    def alive(self) -> list[int]:
        return [pid for pid in self.pids if is_alive(pid)]

    def loaded(self, count: int) -> list[int]:
        """Wait until so many run, and hear signals."""

        def found() -> list[int]:
            alive = self.alive
            return alive if len(alive) == count and all(f"{pid} hears" in self.log for pid in alive) else []

        return wait_until(found, what=f"{count} processes")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, timeout: float = 10) -> int:
        return self.process.wait(timeout)


Supervise = Callable[[int, str], Supervised]


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Supervise]:
    started: list[Supervised] = []

    def start(count: int, what: str) -> Supervised:
        started.append(Supervised(count, what, tmp_path / f"{len(started)}.log"))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()
        for pid in each.alive:
            os.kill(pid, signal.SIGKILL)


def test_a_stop_reaches_all_and_ends_with_0(supervise: Supervise) -> None:
    supervisor = supervise(3, "work")
    pids = supervisor.loaded(3)
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0, supervisor.log
    assert (supervisor.pids, supervisor.alive) == (pids, [])


def test_a_killed_one_is_replaced_and_the_others_do_not_notice(supervise: Supervise) -> None:
    supervisor = supervise(2, "work")
    victim, other = supervisor.loaded(2)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(supervisor.pids) == 3, what="the replacement")
    assert victim not in supervisor.alive
    assert other in supervisor.loaded(2)
    assert "died of SIGKILL" in supervisor.log


def test_one_that_hangs_is_killed_in_time_and_the_status_says_so(supervise: Supervise) -> None:
    supervisor = supervise(2, "deaf")
    supervisor.loaded(2)
    began = time.monotonic()
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 1
    assert time.monotonic() - began < GRACE + 2 + 1  # the last one for a busy machine
    assert supervisor.alive == []


def test_one_that_fails_as_it_stops_gives_1(supervise: Supervise) -> None:
    supervisor = supervise(1, "fail")
    supervisor.loaded(1)
    supervisor.signal(signal.SIGINT)
    assert supervisor.wait() == 1


def test_two_signals_at_once_are_one_wish_and_a_later_one_is_passed_on(supervise: Supervise) -> None:
    supervisor = supervise(1, "stubborn")
    supervisor.loaded(1)
    supervisor.signal(signal.SIGTERM)
    supervisor.signal(signal.SIGINT)
    wait_until(lambda: "stopping all" in supervisor.log, what="the stop")

    def gone() -> bool:
        supervisor.signal(signal.SIGTERM)
        return supervisor.process.poll() is not None

    assert "again" not in supervisor.log
    wait_until(gone, what="the end")
    assert (supervisor.wait(), "again" in supervisor.log) == (0, True)


def test_where_all_refuse_to_run_it_ends_with_their_status(supervise: Supervise) -> None:
    supervisor = supervise(2, "refuse")
    assert supervisor.wait() == 2
    assert "giving up" in supervisor.log


def test_a_crash_with_the_status_of_a_refusal_is_a_crash(supervise: Supervise) -> None:
    supervisor = supervise(1, "crash")
    wait_until(lambda: len(supervisor.pids) >= 2, what="a restart")
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0


def test_none_runs_on_when_the_supervisor_is_killed(supervise: Supervise) -> None:
    supervisor = supervise(2, "work")
    supervisor.loaded(2)
    supervisor.process.kill()
    wait_until(lambda: supervisor.alive == [], what="the end of the processes")
    assert "the supervisor is gone" in supervisor.log


def test_hangup_replaces_them_one_after_the_other(supervise: Supervise) -> None:
    supervisor = supervise(3, "work")
    before = supervisor.loaded(3)
    supervisor.signal(signal.SIGHUP)
    fewest = 3

    def replaced() -> bool:
        nonlocal fewest
        fewest = min(fewest, len(supervisor.alive))
        return len(supervisor.pids) == 6

    wait_until(replaced, what="new processes")
    assert fewest >= 2
    after = supervisor.loaded(3)
    assert not set(before) & set(after)
    assert "died" not in supervisor.log


def test_hangup_stops_at_a_replacement_that_cannot_run(supervise: Supervise, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    supervisor = supervise(3, f"refuse-if:{broken}")
    before = supervisor.loaded(3)
    broken.touch()
    supervisor.signal(signal.SIGHUP)
    wait_until(lambda: "the others are not replaced" in supervisor.log, what="the refusal")
    assert supervisor.loaded(2) == before[1:]
    broken.unlink()
    supervisor.loaded(3)
    assert supervisor.process.poll() is None

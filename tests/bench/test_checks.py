"""The benchmark notices a job that did not run once, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from howdah.bench import backlog, processes
from howdah.bench.crew import Crew
from howdah.bench.ledger import Ledger, Ledgers
from howdah.bench.place import Bench, opened
from howdah.bench.play import play
from howdah.bench.processes import Unreadable
from howdah.bench.result import Run, Size
from howdah.bench.sampling import Stuck, wait_for
from howdah.bench.scenario import Case, Scenario
from tests.support.servers import Server

SETTLE = (
    "WITH gone AS (DELETE FROM howdah.jobs RETURNING *) INSERT INTO howdah.history (id, run_at, created_at, claimed_at,"
    " finished_at, attempt, excused, max_attempts, crashes, priority, state, kind, queue, args, headers, tags, errors)"
    " SELECT id, run_at, created_at, now(), now() + interval '2 seconds', %s, %s, 10, 0, 0, %s, kind, queue, args,"
    " headers, tags, errors FROM gone"
)


def test_a_job_that_ran_twice_in_one_process_is_seen(tmp_path: Path) -> None:
    ledgers = Ledgers(tmp_path, 3)
    ledger = Ledger(ledgers.path(0), 3)
    for n in (0, 1, 1, 2):
        ledger.mark(n)
    assert ledgers.wrong() == ("1 jobs ran more than once",)


def test_a_job_that_ran_in_two_processes_is_seen(tmp_path: Path) -> None:
    ledgers = Ledgers(tmp_path, 2)
    for process in range(2):
        Ledger(ledgers.path(process), 2).mark(1)
    assert ledgers.wrong() == ("1 jobs never ran", "1 jobs ran more than once")


def test_jobs_that_each_ran_once_are_fine_wherever_they_did(tmp_path: Path) -> None:
    ledgers = Ledgers(tmp_path, 4)
    for process in range(2):
        ledger = Ledger(ledgers.path(process), 4, moments=True)
        ledger.mark(process)
        ledger.mark(process + 2)
    assert (ledgers.ran(), ledgers.wrong(), sorted(ledgers.moments())) == (4, (), [0, 1, 2, 3])


def test_a_ledger_that_was_never_opened_has_run_nothing(tmp_path: Path) -> None:
    assert Ledgers(tmp_path, 2).wrong() == ("2 jobs never ran",)


@pytest.mark.parametrize(
    ("attempt", "excused", "state", "wrong"),
    [
        pytest.param(1, 0, "completed", False, id="completed at once"),
        pytest.param(2, 1, "completed", False, id="given back before it began"),
        pytest.param(2, 0, "completed", True, id="a second attempt"),
        pytest.param(1, 0, "discarded", True, id="discarded"),
    ],
)
def test_history_must_have_one_completed_attempt_of_each(
    bench: Bench, attempt: int, excused: int, state: str, wrong: bool
) -> None:
    with bench.database() as database:
        backlog.fill(database, "k", 3, payload=100)
        database.watch.execute(SETTLE, (attempt, excused, state))
        found = backlog.facts(database, "k")
        assert found.seconds == pytest.approx(2)
        assert bool(found.wrong(3)) is wrong
        assert found.wrong(4)


def test_the_args_have_the_size_that_was_asked_for(bench: Bench) -> None:
    with bench.database() as database:
        backlog.fill(database, "k", 1, payload=500)
        assert database.one("SELECT octet_length(args::text) FROM howdah.jobs") == pytest.approx(500, abs=10)


def test_a_case_that_fails_is_wrong_and_the_others_go_on(bench: Bench) -> None:
    def fail(_bench: Bench, _size: Size) -> Run:
        raise Stuck("it hangs")

    cases = (Case("bad", fail), Case("good", lambda _bench, _size: Run({"p50_ms": 1.0})))
    told: list[str] = []
    found = play(bench, Scenario(1, "s", "", cases, (), Size(1), Size(1)), Size(1), 2, told.append, small=True)
    assert found.wrong == ["bad: Stuck: it hangs"] * 2
    assert found.cases[1].spread("p50_ms") is not None
    assert [line.rpartition(": ")[2] for line in told] == ["bad", "good", "good", "bad"]


def test_the_databases_are_gone_afterwards(server: Server) -> None:
    with opened(server.dsn) as (bench, admin):
        with bench.database() as one:
            names = [one.watch.info.dbname]
        names.append(bench.kept("kept", lambda _: None).watch.info.dbname)
        assert there(admin, names) == names[1:]
    with psycopg.connect(server.dsn) as admin:
        assert there(admin, names) == []


def test_a_database_that_is_kept_is_filled_once(bench: Bench) -> None:
    filled: list[object] = []
    first = bench.kept("big", filled.append)
    assert bench.kept("big", filled.append) is first
    assert filled == [first]
    bench.forget()
    assert bench.kept("big", filled.append) is not first
    bench.forget()


def there(admin: psycopg.Connection, names: list[str]) -> list[str]:
    rows = admin.execute("SELECT datname FROM pg_database WHERE datname = ANY (%s)", (names,)).fetchall()
    return [name for (name,) in rows]


def test_a_process_that_ends_too_early_is_said_with_its_words(server: Server) -> None:
    with Crew("no such role", server.dsn, [{}]) as crew, pytest.raises(Stuck, match="KeyError: 'no such role'"):
        crew.ready()


def test_waiting_for_ever_is_an_error_with_the_state_of_things() -> None:
    with pytest.raises(Stuck, match=r"waited 0 s for Godot"):
        wait_for(lambda: False, lambda: "Godot", patience=0)


@pytest.mark.skipif(not processes.PROC.is_dir(), reason="this system has no /proc")
def test_what_a_process_spends_is_known() -> None:
    before = processes.cpu_seconds([os.getpid()])
    while processes.cpu_seconds([os.getpid()]) == before:
        pass
    assert processes.resident_bytes(os.getpid()) > 1_000_000
    assert processes.family_cpu_seconds(os.getpid()) >= before


@pytest.mark.skipif(not processes.PROC.is_dir(), reason="this system has no /proc")
def test_what_a_child_spent_is_known_before_and_after_its_end() -> None:
    spin = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)"
    before = processes.family_cpu_seconds(os.getpid())
    with subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert processes.family_cpu_seconds(os.getpid()) - before >= 0.18
    assert processes.family_cpu_seconds(os.getpid()) - before >= 0.18


def test_a_process_that_cannot_be_seen_is_a_reason_not_a_zero() -> None:
    for read in (processes.resident_bytes, processes.family_cpu_seconds, processes.postmaster_of):
        with pytest.raises(Unreadable):
            read(2**22 + 1)

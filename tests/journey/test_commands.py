"""The command line as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from howdah import Client, JobState
from tests.journey import kinds
from tests.journey.conftest import HOWDAH, howdah


def test_enqueue_drain_and_show(journey: str) -> None:
    made = howdah(journey, "enqueue", "note", "text=hello", "--tag", "a", "--header", "trace=1", "-o", "json")
    job_id = json.loads(made.stdout)["id"]
    drained = howdah(journey, "drain", "-m", "tests.journey.kinds", "-o", "json")
    assert json.loads(drained.stdout) == {"completed": 1, "failed": 0, "discarded": 0, "snoozed": 0, "cancelled": 0}
    shown = json.loads(howdah(journey, "jobs", "show", str(job_id), "-o", "json").stdout)
    assert (shown["state"], shown["result"], shown["tags"], shown["headers"]) == (
        "completed",
        "hello",
        ["a"],
        {"trace": "1"},
    )
    assert "it has ended" in shown["why_not_running"]


def test_enqueue_takes_json_and_every_option(journey: str) -> None:
    options = ["--queue", "q", "--priority", "-3", "--delay", "60", "--key", "k", "--key-for", "5", "--subject", "s"]
    made = howdah(journey, "enqueue", "x", "n:=3", 'list:=["a"]', *options, "--max-attempts", "2", "-o", "json")
    assert made.returncode == 0, made.stderr
    with Client(journey) as client:
        job = client.get(json.loads(made.stdout)["id"])
    assert (job.args, job.queue, job.priority, job.state) == ({"n": 3, "list": ["a"]}, "q", -3, JobState.SCHEDULED)
    assert (job.key, job.subject, job.max_attempts) == ("k", "s", 2)
    again = howdah(journey, "enqueue", "x", "--key", "k", "-o", "json")
    assert json.loads(again.stdout) == {"id": job.id, "created": False}


def test_jobs_list_filters_and_speaks_json_lines(journey: str) -> None:
    with Client(journey) as client:
        first = kinds.fail.enqueue(client)
        kinds.note.enqueue(client, "x")
    drained = howdah(journey, "drain", "-m", "tests.journey.kinds")
    assert drained.returncode == 0, drained.stderr
    listed = howdah(journey, "jobs", "list", "--state", "discarded", "--kind", "fail", "-o", "jsonl")
    assert [json.loads(line)["id"] for line in listed.stdout.splitlines()] == [first.id]
    assert "discarded" in howdah(journey, "jobs", "list").stdout
    assert howdah(journey, "jobs", "list", "--kind", "nobody").stdout.strip() == "none"


def test_drain_strict_fails_when_a_job_was_discarded(journey: str) -> None:
    with Client(journey) as client:
        kinds.fail.enqueue(client)
    assert howdah(journey, "drain", "-m", "tests.journey.kinds", "--strict").returncode == 1


def test_sweep_prints_its_counts(journey: str) -> None:
    with Client(journey) as client:
        client.enqueue("x", {})
        client.claim(worker="gone", lease=0.001)
    counts = json.loads(howdah(journey, "sweep", "-o", "json").stdout)
    assert counts["retried"] == 1


def test_errors_say_what_to_do_and_have_their_exit_status(journey: str, fresh_dsn: str) -> None:
    behind = howdah(fresh_dsn, "jobs", "list")
    assert (behind.returncode, "howdah migrate" in behind.stderr) == (3, True)
    unknown = howdah(journey, "jobs", "show", "999999999")
    assert (unknown.returncode, "999999999" in unknown.stderr) == (1, True)
    assert howdah(journey, "enqueue", "x", "broken").returncode == 2
    assert howdah(journey, "enqueue", "x", "--delay", "-1").returncode == 2
    mistyped = howdah(journey, "enqeue")
    assert (mistyped.returncode, "did you mean 'enqueue'" in mistyped.stderr) == (2, True)
    away = howdah("host=/nowhere dbname=x password=hunter2", "sweep")
    assert (away.returncode, "hunter2" in away.stderr + away.stdout) == (1, False)
    missing = howdah(journey, "worker", "-m", "no.such.module")
    assert (missing.returncode, "no.such.module" in missing.stderr) == (2, True)


def test_help_is_quick_and_imports_no_driver() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom howdah.cli import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "print([m for m in ('psycopg', 'sqlalchemy', 'alembic', 'rich') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
    best = min(_seconds() for _ in range(5))
    bare = min(_seconds([sys.executable, "-c", "import click"]) for _ in range(5))
    assert best < bare + 0.15


def _seconds(command: list[str] | None = None) -> float:
    began = time.perf_counter()
    subprocess.run(command or [*HOWDAH, "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def test_a_refused_decoration_is_named_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("from howdah import job\n\n@job(on_crash='x')\ndef ship(): ...\n")
    done = subprocess.run([*HOWDAH, "worker", "-m", "wrong"], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "wrong.py:3: on_crash='x': must be one of retry, discard, unknown" in done.stderr
    assert "Traceback" not in done.stderr

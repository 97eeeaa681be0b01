"""`howdah jobs show`: what a person needs to decide what to do."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from howdah import Client
from tests.cli.conftest import Howdah
from tests.support.jobs import PAST, make_job


def serve(conn: psycopg.Connection, queue: str = "default", slots: int = 2) -> None:
    conn.execute(
        "INSERT INTO howdah.workers (worker, hostname, pid, version, queues) VALUES (%s, 'h', 1, '1', %s)",
        [f"w-{queue}", Jsonb({queue: slots})],
    )


def declare(conn: psycopg.Connection, kind: str = "k") -> None:
    conn.execute("INSERT INTO howdah.kinds (kind, declared) VALUES (%s, '{}')", [kind])


def why(howdah: Howdah, job: int) -> str:
    return str(howdah("jobs", "show", job, "-o", "json").json["why_not_running"])


def test_errors_are_laid_out_newest_first_with_their_lines(howdah: Howdah, client: Client) -> None:
    job = client.enqueue("k", {"to": "a@example.com"}, max_attempts=2, tags=["t"], headers={"trace": "1"})
    for message in ("first", "second"):
        (claimed,) = client.claim(worker="host:1")
        try:
            raise ValueError(f"{message}\nand more")
        except ValueError as error:
            client.fail(claimed.lease, error, retry_in=0)
        client.sweep()
    page = howdah("jobs", "show", job.id).out
    lines = page.splitlines()
    assert lines[0] == f"job {job.id} is DISCARDED"
    assert page.index("ValueError: second") < page.index("ValueError: first")
    assert "    and more" in lines
    assert any(line.startswith("    |") and "raise ValueError" in line for line in lines)
    assert f"howdah jobs requeue {job.id}" in page
    for fact in ("2 of 2", "trace=1", "a@example.com", "on host:1"):
        assert fact in page


def test_what_operators_did_is_told(howdah: Howdah, client: Client, conn: psycopg.Connection) -> None:
    job = make_job(conn, "unknown", started_at=PAST)
    assert f"howdah jobs resolve {job} --as" in howdah("jobs", "show", job).out
    client.resolve(job, "discarded", "the provider\nsays no")
    client.requeue(job)
    page = howdah("jobs", "show", job).out
    assert "unknown to discarded: the provider ⏎ says no" in page
    assert page.index("requeue by") < page.index("resolve by")
    entries = howdah("jobs", "show", job, "-o", "json").json["audit"]
    assert [entry["action"] for entry in entries] == ["requeue", "resolve"]


def test_why_an_available_job_waits(howdah: Howdah, client: Client, conn: psycopg.Connection) -> None:
    first, job = make_job(conn), make_job(conn)
    assert "no worker serves queue default" in why(howdah, job)
    serve(conn, slots=1)
    assert "no worker has ever registered kind 'k'" in why(howdah, job)
    declare(conn)
    assert why(howdah, job) == "it may be claimed at any moment; 1 job before it"
    make_job(conn, "running")
    assert "every slot of queue default is busy: 1 of 1" in why(howdah, job)
    client.pause("default")
    assert why(howdah, first) == "queue default is paused"


def test_a_worker_that_is_lost_or_stops_serves_nobody(howdah: Howdah, conn: psycopg.Connection) -> None:
    job = make_job(conn)
    serve(conn)
    conn.execute("UPDATE howdah.workers SET heartbeat_at = now() - interval '2 minutes'")
    assert "no worker serves" in why(howdah, job)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("completed", "it has ended"),
        ("scheduled", "it is due in 60 min"),
        ("running", "w holds it; its lease ends in 60 min"),
        ("unknown", "a person or a reconciler"),
        ("blocked", "it waits for its lane"),
    ],
)
def test_why_any_other_job_does_not_run(howdah: Howdah, conn: psycopg.Connection, state: str, reason: str) -> None:
    assert reason in why(howdah, make_job(conn, state))


def test_nothing_on_the_page_is_obeyed_or_passes_for_another_line(howdah: Howdah, conn: psycopg.Connection) -> None:
    evil = "\x1b[2J\x9b31m\u202e\r\nwhy  all is well"
    error = {"attempt": 1, "event": "failed", "type": evil, "message": evil, "traceback": evil, "worker": evil}
    job = make_job(
        conn,
        "discarded",
        args={"a": evil},
        kind=evil,
        queue=evil,
        worker=evil,
        key=evil,
        subject=evil,
        errors=[error],
        headers={evil: evil},
        result={"r": evil},
        progress={"p": evil},
    )
    page = howdah("jobs", "show", job).out
    assert not [c for c in page if not c.isprintable() and c != "\n"]
    assert not [line for line in page.splitlines() if line.startswith("why  all")]
    assert howdah("jobs", "show", job, "-o", "json").json["kind"] == evil


def test_an_error_of_somebody_elses_making_is_shown(howdah: Howdah, conn: psycopg.Connection) -> None:
    job = make_job(conn, "discarded", errors=[{"message": "imported"}])
    ran = howdah("jobs", "show", job)
    assert (ran.status, "imported" in ran.out) == (0, True)


def test_a_job_that_is_not_here_is_an_error(howdah: Howdah) -> None:
    ran = howdah("jobs", "show", 2**62)
    assert (ran.status, str(2**62) in ran.err) == (1, True)
    assert howdah("jobs", "show", "0").status == 2
    assert howdah("jobs", "show", 2**63).status == 2


def test_a_lease_that_is_over_needs_a_sweep(howdah: Howdah, conn: psycopg.Connection) -> None:
    long_ago = sql.SQL("clock_timestamp() - interval '2 minutes'")
    page = howdah("jobs", "show", make_job(conn, "running", lease_expires_at=long_ago)).out.splitlines()
    assert "its lease ended 2 min ago and no worker has taken it back: howdah sweep" in page[1]
    assert page[2].split() == ["you", "can", "howdah", "sweep"]


def test_a_mistyped_kind_that_is_put_off_is_said(howdah: Howdah, conn: psycopg.Connection) -> None:
    declare(conn, "send_mail")
    job = make_job(conn, "scheduled", kind="send_mial", attempt=1, excused=1)
    assert why(howdah, job) == (
        "it is due in 60 min, but no worker has ever registered kind 'send_mial', did you mean 'send_mail'?"
    )


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"attempt": 2, "max_attempts": 2, "errors": [{"type": "E", "message": "bad\nworse"}]}, "last: E: bad"),
        ({"attempt": 3, "max_attempts": 2, "excused": 1}, "its 2 attempts are used up"),
        ({"attempt": 1, "max_attempts": 1}, "its 1 attempt is used up"),
        ({"attempt": 1, "max_attempts": 9, "settled_event": "fail"}, "it failed for good"),
        ({"attempt": 1, "settled_by": "operator", "settled_event": "resolve"}, "discarded, by operator: resolve"),
    ],
)
def test_why_a_job_was_discarded(
    howdah: Howdah, conn: psycopg.Connection, columns: dict[str, Any], reason: str
) -> None:
    assert why(howdah, make_job(conn, "discarded", **columns)).endswith(reason)


def failures(howdah: Howdah, conn: psycopg.Connection, *errors: dict[str, Any]) -> list[str]:
    entries = [{"attempt": n, "event": "failed", "type": "E", **error} for n, error in enumerate(errors, start=1)]
    page = howdah("jobs", "show", make_job(conn, "discarded", errors=entries)).out
    return page.partition("errors, newest first")[2].splitlines()[1:]


FRAME = '  File "/app/shop/jobs.py", line 8, in send\n    raise E\n'
OURS = '  File "/lib/howdah/worker/runner.py", line 3, in _run\n    call()\n    ^^^^^^\n'


def test_what_attempts_have_in_common_is_told_once(howdah: Howdah, conn: psycopg.Connection) -> None:
    same = {"message": "bad", "traceback": OURS + FRAME}
    assert failures(howdah, conn, {**same, "message": "other"}, same, same, same) == [
        "  attempts 2-4 failed, all the same",
        "    E: bad",
        '    |   File "/app/shop/jobs.py", line 8, in send',
        "    |     raise E",
        "  attempt 1 failed",
        "    E: other",
        "    | as in attempt 4",
    ]


def test_what_cannot_be_decoded_has_no_traceback(howdah: Howdah, conn: psycopg.Connection) -> None:
    found = failures(howdah, conn, {"event": "undecodable", "message": "no", "traceback": FRAME})
    assert found == ["  attempt 1 undecodable", "    E: no"]

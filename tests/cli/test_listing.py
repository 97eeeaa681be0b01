"""`howdah jobs list`: what each filter means, over live and finished jobs alike."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.cli.conftest import Howdah
from tests.support.jobs import make_job

ERRORS = [
    {"attempt": 1, "type": "TimeoutError", "message": "after 100% of 5_s \\ 'quoted'"},
    {"attempt": 2, "type": "ValueError", "message": "bad"},
]
AN_HOUR_AGO = sql.SQL("clock_timestamp() - interval '1 hour'")


def ids(howdah: Howdah, *filters: object) -> list[int]:
    ran = howdah("jobs", "list", *filters, "-o", "jsonl")
    assert ran.status == 0, ran.err
    return [row["id"] for row in ran.lines]


@pytest.mark.parametrize("state", ["available", "completed"])
@pytest.mark.parametrize(
    ("column", "value", "option"),
    [
        ("kind", "mail", "--kind"),
        ("queue", "bulk", "--queue"),
        ("key", "k'1", "--key"),
        ("subject", "s%", "--subject"),
        ("worker", "host:1", "--worker"),
        ("tags", ["other", "tag"], "--tag"),
    ],
)
def test_a_filter_finds_its_jobs_and_no_others(
    howdah: Howdah, conn: psycopg.Connection, state: str, column: str, value: Any, option: str
) -> None:
    stored = sql.SQL("ARRAY['other', 'tag']") if column == "tags" else value
    wanted = make_job(conn, state, **{column: stored})
    make_job(conn, state)
    assert ids(howdah, option, "tag" if column == "tags" else value) == [wanted]
    assert ids(howdah, option, "%") == []


def test_states_may_be_repeated_and_live_and_finished_are_merged_newest_first(
    howdah: Howdah, conn: psycopg.Connection
) -> None:
    made = [make_job(conn, state) for state in ("completed", "available", "discarded", "running", "cancelled")]
    assert ids(howdah) == made[::-1]
    assert ids(howdah, "--limit", 2) == made[:2:-1]
    assert ids(howdah, "--state", "running", "--state", "completed") == [made[3], made[0]]
    assert ids(howdah, "--state", "discarded") == [made[2]]
    assert ids(howdah, "--state", "unknown") == []


@pytest.mark.parametrize("state", ["available", "discarded"])
def test_age_is_counted_from_the_enqueue(howdah: Howdah, conn: psycopg.Connection, state: str) -> None:
    old, new = make_job(conn, state, created_at=AN_HOUR_AGO), make_job(conn, state)
    assert ids(howdah, "--older-than", "30m") == [old]
    assert ids(howdah, "--newer-than", "30m") == [new]
    assert ids(howdah, "--older-than", "2h") == []
    assert ids(howdah, "--newer-than", "7d", "--older-than", "10") == [old]


@pytest.mark.parametrize("text", ["timeouterror", "VALUE", "100%", "5_s", "\\", "'quoted'", "of 5"])
@pytest.mark.parametrize("state", ["scheduled", "discarded"])
def test_an_error_is_found_by_any_part_of_its_type_or_message(
    howdah: Howdah, conn: psycopg.Connection, state: str, text: str
) -> None:
    wanted = make_job(conn, state, errors=ERRORS)
    make_job(conn, state, errors=[{"type": "E", "message": "5xs 1000"}])
    make_job(conn, state)
    make_job(conn, state, errors={"not": "a list"})
    assert ids(howdah, "--error", text) == [wanted]


def test_json_has_proper_types(howdah: Howdah, conn: psycopg.Connection) -> None:
    job = make_job(conn, "discarded", errors=ERRORS, key="k")
    (row,) = howdah("jobs", "list", "-o", "json").json
    assert (row["id"], row["attempt"], row["tags"], row["worker"]) == (job, 1, [], None)
    assert row["error"] == "ValueError: bad"
    assert row["finished_at"].endswith("Z")
    assert howdah("jobs", "list", "--kind", "none", "-o", "json").json == []


def test_what_is_in_the_database_is_not_obeyed_by_a_terminal(howdah: Howdah, conn: psycopg.Connection) -> None:
    evil = "\x1b]0;owned\x07\x9b31m\u202e\nid  state"
    make_job(conn, "discarded", kind=evil, worker=evil, errors=[{"type": "E", "message": evil}])
    for output in ("table", "json", "jsonl"):
        ran = howdah("jobs", "list", "-o", output)
        assert not [c for c in ran.out if not c.isprintable() and c != "\n"]
    assert howdah("jobs", "list", "-o", "json").json[0]["kind"] == evil
    assert len([line for line in howdah("jobs", "list").out.splitlines() if line.strip()]) == 2  # head, row


def test_a_name_that_nobody_knows_is_said_with_the_nearest(howdah: Howdah, conn: psycopg.Connection) -> None:
    conn.execute("INSERT INTO howdah.kinds (kind, queue) VALUES ('send_mail', 'mail')")
    ran = howdah("jobs", "list", "--kind", "send_mial", "--queue", "mial")
    assert (ran.status, ran.out) == (0, "none\n")
    assert "did you mean 'send_mail'" in ran.err
    assert "did you mean 'mail'" in ran.err
    assert howdah("jobs", "list", "--kind", "send_mail").err == ""


@pytest.mark.parametrize(
    "filters",
    [
        ("--kind", "a\0b"),
        ("--error", "a\0b"),
        ("--kind", "\udcff"),
        ("--key", ""),
        ("--subject", "x" * 201),
        ("--older-than", "soon"),
        ("--older-than", "-1"),
        ("--newer-than", "99999d"),
        ("--state", "gone"),
        ("--limit", "0"),
    ],
)
def test_what_no_job_could_have_is_a_usage_error(howdah: Howdah, filters: tuple[str, str]) -> None:
    ran = howdah("jobs", "list", *filters)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err


@pytest.fixture
def reader_dsn(dsn: str, conn: psycopg.Connection) -> Iterator[str]:
    """A DSN of somebody who may read what is not personal."""
    role, private = f"reader_{secrets.token_hex(4)}", "('args', 'headers', 'progress', 'errors', 'result')"
    conn.execute(f"CREATE ROLE {role}; GRANT USAGE ON SCHEMA howdah TO {role}; GRANT SELECT ON howdah.kinds TO {role}")
    conn.execute(f"GRANT SELECT ON howdah.schema_version TO {role}")
    for table in ("jobs", "history"):
        columns = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
        names = [name for (name,) in conn.execute(f"{columns} AND column_name NOT IN {private}".encode())]
        conn.execute(f"GRANT SELECT ({', '.join(names)}) ON howdah.{table} TO {role}")
    yield make_conninfo(dsn, options=f"-c role={role}")
    conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_a_reader_who_may_not_see_errors_sees_the_rest(
    howdah: Howdah, conn: psycopg.Connection, reader_dsn: str
) -> None:
    job = make_job(conn, "discarded", errors=ERRORS)
    (row,) = howdah("jobs", "list", "-o", "json", on=reader_dsn).json
    assert (row["id"], row["error"]) == (job, None)
    ran = howdah("jobs", "list", "--error", "bad", on=reader_dsn)
    assert (ran.status, "permission denied" in ran.err) == (1, True)


def test_a_database_without_the_schema_is_said_to_be_behind(howdah: Howdah, fresh_dsn: str) -> None:
    for command in (["jobs", "list"], ["queues", "list"], ["workers", "list"], ["kinds", "list"], ["jobs", "tail"]):
        ran = howdah(*command, on=fresh_dsn)
        assert (ran.status, "howdah migrate" in ran.err) == (3, True)

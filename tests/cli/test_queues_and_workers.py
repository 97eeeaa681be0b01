"""`howdah queues` and `howdah workers`."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.cli.conftest import Howdah
from tests.support.jobs import make_job


@pytest.fixture
def served(conn: psycopg.Connection) -> None:
    """A worker of queue mail."""
    conn.execute(
        "INSERT INTO howdah.workers (worker, hostname, pid, version, queues, running, stuck) "
        "VALUES ('w\x1b[2J', 'host', 7, '0.1', %s, 2, 1)",
        [Jsonb({"mail": 5})],
    )


def audited(conn: psycopg.Connection) -> list[tuple[str, str]]:
    return conn.execute("SELECT action, detail ->> 'queue' FROM howdah.audit ORDER BY id").fetchall()


def test_pausing_and_resuming_is_audited_once(howdah: Howdah, conn: psycopg.Connection) -> None:
    make_job(conn, queue="mail")
    assert howdah("queues", "pause", "mail", "mail").out == "mail paused\n"
    assert howdah("queues", "pause", "mail").out == "mail was paused already\n"
    since = conn.execute("SELECT paused_at FROM howdah.queues").fetchone()
    assert since is not None
    assert howdah("queues", "pause", "mail", "-o", "json").json == [{"queue": "mail", "changed": False}]
    assert conn.execute("SELECT paused_at FROM howdah.queues").fetchone() == since
    assert howdah("queues", "resume", "mail").out == "mail resumed\n"
    assert howdah("queues", "resume", "mail").out == "mail was not paused\n"
    assert audited(conn) == [("pause", "mail"), ("resume", "mail")]


def test_an_unknown_queue_is_paused_by_force_alone(howdah: Howdah, conn: psycopg.Connection, served: None) -> None:
    ran = howdah("queues", "pause", "mail", "mial")
    assert (ran.status, "did you mean 'mail'" in ran.err, "--force" in ran.err) == (1, True, True)
    assert audited(conn) == []
    assert howdah("queues", "pause", "mial", "--force").status == 0
    assert howdah("queues", "pause", "mail", "default").err == ""
    assert "did you mean 'mial'" in howdah("queues", "resume", "mali").err


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 201, "\udcff"])
def test_a_name_that_no_queue_can_have_changes_nothing(howdah: Howdah, conn: psycopg.Connection, name: str) -> None:
    assert howdah("queues", "pause", "fine", name).status == 2
    assert audited(conn) == []


def test_queues_are_listed_with_what_waits_and_who_serves(
    howdah: Howdah, conn: psycopg.Connection, served: None
) -> None:
    make_job(conn, queue="mail")
    make_job(conn, "running", queue="\x1b[31mevil")
    howdah("queues", "pause", "mail")
    rows = {row["queue"]: row for row in howdah("queues", "list", "-o", "json").json}
    mail = rows["mail"]
    assert (mail["paused"], mail["available"], mail["workers"], mail["slots"]) == (True, 1, 1, 5)
    assert rows["\x1b[31mevil"]["running"] == 1
    table = howdah("queues", "list").out
    assert "\x1b" not in table
    assert "0/5" in table


def test_workers_are_listed_with_their_status_and_what_is_stuck(howdah: Howdah, served: None) -> None:
    (row,) = howdah("workers", "list", "-o", "jsonl").lines
    assert (row["status"], row["queues"], row["running"], row["stuck"]) == ("alive", {"mail": 5}, 2, 1)
    table = howdah("workers", "list").out
    assert "\x1b" not in table
    for cell in ("alive", "mail:5", "2/5", "stuck"):
        assert cell in table


def test_nothing_is_listed_as_none(howdah: Howdah) -> None:
    assert howdah("workers", "list").out == "none\n"
    assert howdah("queues", "list", "-o", "json").json == []
    assert howdah("queues", "list", "-o", "jsonl").out == ""

"""`howdah enqueue`: args as text or JSON, and every option of an enqueue as a flag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from howdah import Client, JobState
from tests.cli.conftest import Howdah


def test_args_are_text_or_json(howdah: Howdah, client: Client) -> None:
    ran = howdah("enqueue", "k", "a=1", "b:=1", 'c:=["x", null]', "d=x=y", "e=", "f:=true", "-o", "json")
    assert ran.status == 0
    assert client.get(ran.json["id"]).args == {"a": "1", "b": 1, "c": ["x", None], "d": "x=y", "e": "", "f": True}


def test_every_option_has_its_flag(howdah: Howdah, client: Client, conn: psycopg.Connection) -> None:
    ran = howdah(
        *("enqueue", "k", "--queue", "q", "--priority", "-3", "--delay", "10m", "--expires-in", "2h"),
        *("--max-attempts", 2, "--key", "key", "--key-for", "1d", "--subject", "s", "--tag", "a", "--tag", "b"),
        *("--header", "trace=1=2", "-o", "json"),
    )
    job = client.get(ran.json["id"])
    assert (job.queue, job.priority, job.max_attempts, job.key, job.subject) == ("q", -3, 2, "key", "s")
    assert (job.tags, job.headers, job.state) == (["a", "b"], {"trace": "1=2"}, JobState.SCHEDULED)
    assert job.run_at - job.created_at == timedelta(minutes=10)
    assert job.expires_at is not None
    assert job.expires_at - job.created_at == timedelta(hours=2)
    assert conn.execute("SELECT key_for FROM howdah.jobs WHERE id = %s", [job.id]).fetchone() == (86400.0,)
    again = howdah("enqueue", "k", "--key", "key")
    assert (again.status, again.out) == (0, f"job {job.id} holds this key: nothing was enqueued\n")


def test_a_moment_needs_its_time_zone(howdah: Howdah, client: Client) -> None:
    ran = howdah("enqueue", "k", "--run-at", "2030-01-31T12:00:00+01:00", "-o", "json")
    assert client.get(ran.json["id"]).run_at == datetime(2030, 1, 31, 11, tzinfo=UTC)
    assert howdah("enqueue", "k", "--run-at", "2030-01-31T12:00:00").status == 2
    assert howdah("enqueue", "k", "--run-at", "tomorrow").status == 2


def test_a_kind_that_nobody_has_registered_is_enqueued_with_a_note(howdah: Howdah, conn: psycopg.Connection) -> None:
    conn.execute("INSERT INTO howdah.kinds (kind) VALUES ('send_mail')")
    ran = howdah("enqueue", "send_mial")
    assert (ran.status, "did you mean 'send_mail'" in ran.err) == (0, True)
    assert howdah("enqueue", "send_mail").err == ""


@pytest.mark.parametrize(
    "given",
    [
        ("broken",),
        ("=1",),
        (":=1",),
        ("a:=nope",),
        ("a=1", "a=2"),
        ("a=\0",),
        ("a=\udcff",),
        ("a=1", "--delay", "soon"),
        ("--delay", "-1"),
        ("--delay", "1m", "--run-at", "2030-01-31T12:00:00+00:00"),
        ("--key-for", "5"),
        ("--priority", "99999"),
        ("--max-attempts", "0"),
        ("--header", "trace"),
        ("--header", "a=1", "--header", "a=2"),
        ("--tag", ""),
        ("--queue", "x" * 201),
        ("--key", "a\0b"),
    ],
)
def test_what_cannot_be_enqueued_is_a_usage_error(
    howdah: Howdah, conn: psycopg.Connection, given: tuple[str, ...]
) -> None:
    ran = howdah("enqueue", "k", *given)
    assert (ran.status, ran.out) == (2, "")
    assert conn.execute("SELECT count(*) FROM howdah.jobs").fetchone() == (0,)


def test_sweep_prints_its_counts(howdah: Howdah, client: Client) -> None:
    client.enqueue("k", {})
    client.claim(worker="gone", lease=0.001)
    assert howdah("sweep", "-o", "json").json["retried"] == 1
    assert "retried" in howdah("sweep").out

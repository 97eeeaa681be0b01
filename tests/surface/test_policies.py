"""A kind's policy is a row: what a worker declares, what an operator pinned, and jobs that came before either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from howdah import Client, Retry, job
from howdah.model.job import Policy
from howdah.store.drivers import on_psycopg, run
from howdah.store.workers import register_kinds

One = Callable[..., dict[str, Any]]
PAST = "UPDATE howdah.jobs SET lease_expires_at = now() - interval '1 second' WHERE state = 'running'"


@job(kind="a", queue="mail", retry=Retry(max_attempts=3, base=7), lease=30, on_crash="discard", on_discard="b")
def a() -> None: ...


@pytest.fixture
def register(conn: psycopg.Connection) -> Callable[..., None]:
    def register(policy: Policy, worker: str = "w") -> None:
        run(on_psycopg(conn), register_kinds([policy], worker))

    return register


def test_a_policy_is_written_as_declared(register: Callable[..., None], one: One) -> None:
    register(a.policy)
    row = one("SELECT * FROM howdah.kinds")
    assert (row["kind"], row["queue"], row["max_attempts"], row["retry_base"]) == ("a", "mail", 3, 7.0)
    assert (row["lease"], row["on_crash"], row["on_discard"], row["pinned"]) == (30.0, "discard", "b", False)


def test_a_changed_policy_is_audited_with_both_sides(register: Callable[..., None], one: One) -> None:
    register(a.policy)
    assert one("SELECT count(*) AS n FROM howdah.audit")["n"] == 0  # new, not changed
    register(a.policy)
    assert one("SELECT count(*) AS n FROM howdah.audit")["n"] == 0
    register(replace(a.policy, lease=90.0), "second")
    row = one("SELECT * FROM howdah.audit")
    assert (row["action"], row["kind"], row["note"]) == ("declare", "a", "second")
    assert (row["detail"]["from"]["lease"], row["detail"]["to"]["lease"]) == (30, 90)
    assert one("SELECT lease FROM howdah.kinds")["lease"] == 90


def test_what_an_operator_pinned_stays(register: Callable[..., None], conn: psycopg.Connection, one: One) -> None:
    register(a.policy)
    conn.execute("UPDATE howdah.kinds SET pinned = true, lease = 5, max_attempts = 1")
    register(replace(a.policy, lease=90.0))
    row = one("SELECT lease, max_attempts, pinned, declared FROM howdah.kinds")
    assert (row["lease"], row["max_attempts"], row["pinned"]) == (5, 1, True)
    assert row["declared"]["lease"] == 90  # known, for the day it is unpinned


def test_a_policy_registered_later_holds_for_jobs_that_are_there(
    register: Callable[..., None], client: Client, conn: psycopg.Connection, one: One
) -> None:
    job_id = one("SELECT howdah.enqueue('a') AS id")["id"]
    register(a.policy)
    claimed = client.claim(worker="w")[0]
    assert (claimed.id, claimed.max_attempts) == (job_id, 3)
    assert one("SELECT lease_expires_at - claimed_at AS lease FROM howdah.jobs")["lease"].total_seconds() == 30
    client.start(claimed.lease)
    conn.execute(PAST)
    assert client.reap().discarded == 1  # on_crash
    landing = one("SELECT kind, args FROM howdah.jobs")
    assert (landing["kind"], landing["args"]["job_id"]) == ("b", job_id)


def test_a_policy_registered_while_a_job_runs_is_what_the_reaper_goes_by(
    register: Callable[..., None], client: Client, conn: psycopg.Connection
) -> None:
    client.enqueue("a", {})
    client.claim(worker="w")
    register(a.policy)
    conn.execute(PAST)
    assert client.reap().discarded == 1


def test_jobs_of_a_kind_that_nobody_registered_get_the_defaults(client: Client, one: One) -> None:
    client.enqueue("stranger", {})
    assert client.claim(worker="w")[0].max_attempts == 10
    row = one("SELECT queue, lease_expires_at - claimed_at AS lease FROM howdah.jobs")
    assert (row["queue"], row["lease"].total_seconds()) == ("default", 60)


def test_pause_and_resume_are_audited_and_hold_back_claims(client: Client, conn: psycopg.Connection, one: One) -> None:
    client.enqueue("a", {}, queue="mail")
    client.pause("mail")
    assert client.claim(["mail"], worker="w") == []
    client.resume("mail")
    client.resume("mail")  # nothing to resume, nothing to tell
    assert len(client.claim(["mail"], worker="w")) == 1
    told = conn.execute("SELECT action, detail, actor = session_user FROM howdah.audit ORDER BY id").fetchall()
    assert told == [("pause", {"queue": "mail"}, True), ("resume", {"queue": "mail"}, True)]


def test_a_queue_paused_twice_keeps_its_first_moment(client: Client, one: One) -> None:
    client.pause("mail")
    first = one("SELECT paused_at FROM howdah.queues")
    client.pause("mail")
    assert one("SELECT paused_at FROM howdah.queues") == first

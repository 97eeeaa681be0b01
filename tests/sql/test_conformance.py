"""Every statement, from every state: what it does is what the state table says, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from psycopg import Connection
from psycopg.rows import dict_row

from howdah.model.job import FINAL, UNSTARTED, JobState
from howdah.model.outcome import Actor, Event, Report
from howdah.model.transitions import TRANSITIONS, find
from tests.sql.cases import CAP, Case, all_facts, insert
from tests.sql.statements import STATEMENTS, Statement, settled


def test_every_row_of_the_state_table_has_a_statement_here() -> None:
    steps = {(step.actor, step.event) for step in TRANSITIONS}
    assert steps == {(statement.actor, statement.event) for statement in STATEMENTS.values()}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_takes_each_job_where_the_state_table_says(conn: Connection[Any], name: str) -> None:
    statement = STATEMENTS[name]
    cases = insert(conn, [replace(facts, **statement.said) for facts in all_facts()])
    before = rows_by_job(conn)
    statement.perform(conn, cases)
    after = rows_by_job(conn)
    problems = [f"{case}: {problem}" for case in cases if (problem := compare(statement, case, before, after))]
    assert not problems, "\n".join([f"{len(problems)} of {len(cases)}", *problems[:10]])
    beside = {job for case in cases for _, row in case.rows if (job := row.get("id")) and job != case.id}
    touched = [job for job in beside if after[job] != before[job]]
    assert not touched, "a job beside the one that was meant has changed"
    assert after.keys() == before.keys()


def test_a_completion_in_a_callers_transaction_writes_nothing_when_the_job_is_outdated(conn: Connection[Any]) -> None:
    running = [facts for facts in all_facts() if facts.state is JobState.RUNNING]
    cases = insert(conn, running)
    before = rows_by_job(conn)
    settled(Actor.WORKER, Report(Event.COMPLETE), in_transaction=True)(conn, cases)
    after = rows_by_job(conn)
    for case in cases:
        outdated = case.facts.outdated and case.facts.on_supersede == "cancel"
        assert (after[case.id] == before[case.id]) is outdated, str(case)
        assert after[case.id]["state"] == ("running" if outdated else "completed"), str(case)


def rows_by_job(conn: Connection[Any]) -> dict[int, dict[str, Any]]:
    """What every table says of each job, with the transactions that wrote it."""
    query = """
        SELECT t.id, t.state, t.place, t.body, t.xmin, k.keys, a.audit
        FROM (
            SELECT j.id, j.state, 'jobs' AS place, to_jsonb(j) AS body, j.xmin::text FROM howdah.jobs j
            UNION ALL
            SELECT h.id, h.state, 'history', to_jsonb(h), h.xmin::text FROM howdah.history h
        ) t
        LEFT JOIN (
            SELECT job_id AS id, jsonb_agg(to_jsonb(k) || jsonb_build_object('xmin', k.xmin::text)) AS keys
            FROM howdah.keys k GROUP BY job_id
        ) k USING (id)
        LEFT JOIN (SELECT job_id AS id, jsonb_agg(action) AS audit FROM howdah.audit GROUP BY job_id) a USING (id)
    """
    rows = conn.cursor(row_factory=dict_row).execute(query).fetchall()
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows), "a job stands in both tables"
    return found


def compare(statement: Statement, case: Case, before: dict[int, Any], after: dict[int, Any]) -> str | None:
    """What is wrong with what became of a case, if anything."""
    expected = statement.expected(case.facts)
    old, new = before[case.id], after[case.id]
    if expected is None:
        differing = {
            name: (value, old["body"].get(name))
            for name, value in new["body"].items()
            if value != old["body"].get(name)
        }
        return None if new == old else f"should be untouched, was changed: (is, was) {differing}"
    if new["state"] != expected:
        return f"should be {expected}, is {new['state']}"
    was, now = old["body"], new["body"]
    wanted = {**was, **changes(statement, case, expected, was)}
    wrong = {
        column: (now[column], wanted[column])
        for column in now.keys() & wanted.keys() - MOVING
        if now[column] != wanted[column]
    }
    if wrong:
        return f"→ {expected}, (is, should be) {wrong}"
    return side_effects(statement, case, expected, old, new)


# Looked at one by one below, or written anew by nearly every step.
MOVING = {"position", "run_at", "errors", "claimed_at", "lease_expires_at", "finished_at", "claim_no", "result"}
CLEARED = ("claimed_at", "started_at", "expires_at", "cancel_requested_at", "superseded_by", "claim_no")
SETTLED = ("settled_by", "settled_event", "settled_attempt")


def changes(statement: Statement, case: Case, state: JobState, was: dict[str, Any]) -> dict[str, Any]:
    """The columns that this step writes, by design section 2 and decisions 2, 3 and 5."""
    facts, event = case.facts, statement.event
    step = find(statement.actor, event, facts)
    assert step is not None
    change: dict[str, Any] = {"state": state}
    if state in FINAL:
        superseded_by = case.newer if state == "superseded" else None
        change |= {"max_attempts": CAP, "own_max_attempts": was["max_attempts"], "superseded_by": superseded_by}
    elif step.excused:
        change["excused"] = facts.excused + 1
    if event is Event.REAP and not step.excused:
        change["crashes"] = was["crashes"] + 1
    match event, state:
        case Event.REQUEUE | Event.RESOLVE, "available":
            own = was["own_max_attempts" if event is Event.REQUEUE else "max_attempts"]
            change |= dict.fromkeys((*CLEARED, *SETTLED)) | {"excused": facts.attempt, "max_attempts": own}
        case Event.CLAIM, "running":
            needs_start = facts.on_crash != "retry"
            change |= {
                "attempt": facts.attempt + 1,
                "worker": "claimer",
                "started_at": None,
                "needs_start": needs_start,
            }
        case Event.START, _:
            change["started_at"] = ANY
        case Event.CANCEL, "running":
            change["cancel_requested_at"] = was["cancel_requested_at"] or ANY
        case Event.PROMOTE, _:
            pass
        case _:
            said = {"superseded": Event.SUPERSEDE, "expired": Event.EXPIRE}[state] if event is Event.CLAIM else event
            change |= dict(zip(SETTLED, (statement.actor, said, facts.attempt), strict=True))
    return change


class Anything:
    def __eq__(self, other: object) -> bool:
        return other is not None

    __hash__ = None  # type: ignore[assignment]


ANY = Anything()


def side_effects(statement: Statement, case: Case, state: JobState, old: Any, new: Any) -> str | None:
    """Keys, audit, lease, position and errors."""
    was, now, event = old["body"], new["body"], statement.event
    by_operator = [str(event)] if statement.actor is Actor.OPERATOR else None
    if new["audit"] != by_operator:
        return f"audit is {new['audit']}"
    if state in FINAL:
        freed = [key for key in new["keys"] or [] if key["free_at"] is not None]
        if case.key is None or case.key_for is None:
            return f"its key should be gone: {new['keys']}" if new["keys"] else None
        return None if len(freed) == 1 else f"its key should be free later: {new['keys']}"
    holds = [key["key"] for key in new["keys"] or [] if key["free_at"] is None]
    if holds != ([case.key] if case.key else []):
        return f"it should hold {case.key}: {new['keys']}"
    if (now["lease_expires_at"] is not None) != (state in ("running", "unknown")):
        return "its lease"
    if event is not Event.CLAIM and state == "running" and now["lease_expires_at"] != was["lease_expires_at"]:
        return "its lease has moved"
    if state == "available" and now["position"] == was.get("position"):
        return "it should have a new position"
    crashed = event is Event.REAP and state != "available"
    if len(now["errors"]) != len(was["errors"]) + crashed:
        return f"errors: {now['errors']}"
    if crashed and (now["errors"][-1]["event"], now["errors"][-1]["attempt"]) != ("crashed", case.facts.attempt):
        return f"errors: {now['errors']}"
    return None


def test_an_enqueue_supersedes_exactly_the_unstarted_jobs_of_its_subject(conn: Connection[Any]) -> None:
    alone = [facts for facts in all_facts() if not (facts.outdated or facts.key_held or facts.newer_unfinished)]
    cases = insert(conn, alone)
    before = rows_by_job(conn)
    cases = [case for case in cases if before[case.id]["body"]["subject"]]
    # Alike but for one thing: neither is superseded.
    other = conn.execute(
        "SELECT howdah.enqueue('another kind', subject => 'one'), howdah.enqueue('k', subject => 'two')"
    ).fetchone()
    newer = {}
    for case in cases:
        body = before[case.id]["body"]
        row = conn.execute("SELECT howdah.enqueue(%s, subject => %s)", [body["kind"], body["subject"]]).fetchone()
        newer[case.id] = row[0] if row else None
    after = rows_by_job(conn)
    for case in cases:
        if case.facts.state in UNSTARTED:
            body = after[case.id]["body"]
            assert (body["state"], body["superseded_by"]) == ("superseded", newer[case.id]), str(case)
            assert (body["settled_by"], body["settled_event"]) == ("enqueue", "supersede"), str(case)
        else:
            assert after[case.id] == before[case.id], str(case)
    assert other is not None
    assert all(after[job]["state"] == "available" for job in other)

"""Asking about jobs, and what an operator may do with them."""

from __future__ import annotations

from howdah.model.claimability import Claimability, why_not_claimable
from howdah.model.errors import InvalidTransition, JobNotFound
from howdah.model.job import FINAL, Job, JobState
from howdah.model.limits import check_name
from howdah.model.outcome import Actor, Event, Report
from howdah.store import rows
from howdah.store.operation import Operation, Query
from howdah.store.settling import settle, without_lease


def get(job_id: int) -> Operation[Job]:
    """The job, wherever it is. Raises JobNotFound."""
    found = yield Query("jobs/get", {"id": job_id})
    if not found:
        raise JobNotFound(job_id)
    return rows.job(found[0])


def is_unfinished(job_id: int) -> Operation[bool]:
    """Whether the job may still change by itself, cheaply: an unknown one waits for a person."""
    found = yield Query("jobs/state", {"id": job_id})
    return bool(found) and found[0]["state"] != JobState.UNKNOWN


def why_not_running(job_id: int) -> Operation[str | None]:
    """Why a claim passes the job over, or None if it may be claimed now. Raises JobNotFound."""
    found = yield Query("jobs/standing", {"id": job_id})
    if not found:
        raise JobNotFound(job_id)
    row = dict(found[0])
    now = row.pop("now")
    return why_not_claimable(Claimability(**{**row, "state": JobState(row["state"])}), now)


def cancel(job_id: int) -> Operation[Job]:
    """Cancel a job that has not begun, or ask the handler of a running one to end. Audited.

    A cancelled job is given back as it is. Raises InvalidTransition for another final or an unknown one, JobNotFound.
    """
    done = yield from settle([(without_lease(job_id), Report(Event.CANCEL))], actor=Actor.OPERATOR)
    job = yield from get(job_id)
    if not done and job.state is not JobState.CANCELLED:
        raise InvalidTransition(job_id, job.state, "cancel")
    return job


def resolve(job_id: int, state: JobState, note: str) -> Operation[Job]:
    """Say how an unknown job ended, or make it available with a fresh budget of attempts. Audited with the note.

    Raises InvalidTransition for a job that is not unknown, or that is outdated and should become
    available; JobNotFound.
    """
    check_name("note", note, limit=10_000)
    done = yield from settle(
        [(without_lease(job_id), Report(Event.RESOLVE))], actor=Actor.OPERATOR, targets=[state], note=note
    )
    job = yield from get(job_id)
    if not done:
        why = (
            "a newer job of its subject has replaced it"
            if job.state is JobState.UNKNOWN
            else "only an unknown job can be resolved"
        )
        raise InvalidTransition(job_id, job.state, "resolve", why)
    return job


def requeue(job_id: int, note: str | None = None) -> Operation[Job]:
    """Put a final job back, available with a fresh budget of attempts. Audited.

    Raises InvalidTransition for a job that is not final, whose key another live job holds, or of whose subject a newer
    job is unfinished; JobNotFound.
    """
    done = yield Query("jobs/requeue", {"id": job_id, "note": note})
    job = yield from get(job_id)
    if not done:
        why = (
            "another live job holds its key, or a newer job of its subject is unfinished"
            if job.state in FINAL
            else "it has not ended"
        )
        raise InvalidTransition(job_id, job.state, "requeue", why)
    return job


def pause(queue: str) -> Operation[None]:
    """Stop claims of a queue, in the whole database, until `resume`. Audited."""
    yield Query("queues/pause", {"queue": check_name("queue", queue)})


def resume(queue: str) -> Operation[None]:
    """Let a paused queue be claimed again. Audited."""
    yield Query("queues/resume", {"queue": check_name("queue", queue)})

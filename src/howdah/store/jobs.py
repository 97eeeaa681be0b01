"""Asking about jobs, and what an operator may do with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from howdah.model.claimability import (
    MOST_AHEAD,
    Claimability,
    Service,
    unregistered,
    why_it_ended,
    why_not_claimable,
    why_not_taken,
)
from howdah.model.errors import HowdahError, InvalidTransition, JobNotFound
from howdah.model.job import FINAL, Job, JobState
from howdah.model.limits import MAX_NOTE, check_name
from howdah.model.outcome import Actor, Event, Report
from howdah.store import rows
from howdah.store.operation import Operation, Query, Rows
from howdah.store.settling import settle, without_lease
from howdah.store.workers import known_kinds


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


def now() -> Operation[datetime]:
    """The time by the database's clock."""
    return (yield Query("doctor/clock"))[0]["now"]  # type: ignore[no-any-return]


def standing(job_id: int) -> Operation[tuple[Claimability, datetime]]:
    """What decides whether a claim takes the job, and the time by the database's clock. Raises JobNotFound."""
    found = yield Query("jobs/standing", {"id": job_id})
    if not found:
        raise JobNotFound(job_id)
    row = dict(found[0])
    moment = row.pop("now")
    return Claimability(**{**row, "state": JobState(row["state"])}), moment


def why_it_waits(job_id: int) -> Operation[str]:
    """Why the job does not run, also where a claim would take it: nobody serves its queue, all are busy and so on.

    Raises JobNotFound.
    """
    job, moment = yield from standing(job_id)
    if job.state in FINAL:
        return why_it_ended((yield from get(job_id)))
    reason = why_not_claimable(job, moment)
    known = [] if job.kind_is_known else (yield from known_kinds())
    if reason is None:
        found = yield Query("queues/service", {"id": job_id, "most": MOST_AHEAD})
        return why_not_taken(Service(**found[0]), known) if found else "it has just been claimed"
    if job.state is JobState.SCHEDULED and not job.kind_is_known:
        return f"{reason}, but {unregistered(job.kind, known)}"
    return reason


def audit(job_id: int) -> Operation[Rows]:
    """What operators did with the job, newest first."""
    return (yield Query("jobs/audit", {"id": job_id}))


def cancel(job_id: int) -> Operation[Job]:
    """Cancel a job that has not begun, or ask the handler of a running one to end. Audited.

    A cancelled job is given back as it is. Raises InvalidTransition for another final or an unknown one, JobNotFound.
    """
    answer = (yield from cancel_each([job_id]))[job_id]
    if isinstance(answer, HowdahError):
        raise answer
    return (yield from get(job_id))


def cancel_each(ids: Sequence[int]) -> Operation[dict[int, JobState | HowdahError]]:
    """As `cancel` for each of them, in one statement: its state then, or the error why not."""
    reports = [(without_lease(job_id), Report(Event.CANCEL)) for job_id in ids]
    answers: dict[int, JobState | HowdahError] = {}
    answers.update((yield from settle(reports, actor=Actor.OPERATOR)))
    missing = [job_id for job_id in ids if job_id not in answers]
    if missing:
        answers.update((job_id, JobNotFound(job_id)) for job_id in missing)
        for row in (yield Query("jobs/traces", {"ids": missing})):
            job_id, state = missing[row["n"] - 1], JobState(row["state"])
            refused = state is not JobState.CANCELLED
            answers[job_id] = InvalidTransition(job_id, state, "cancel") if refused else state
    return answers


def resolve(job_id: int, state: JobState, note: str) -> Operation[Job]:
    """Say how an unknown job ended, or make it available with a fresh budget of attempts. Audited with the note.

    Raises InvalidTransition for a job that is not unknown, or that is outdated and should become
    available; JobNotFound.
    """
    check_name("note", note, limit=MAX_NOTE)
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


def pause(queue: str) -> Operation[bool]:
    """Stop claims of a queue, in the whole database, until `resume`. Audited. False where it was paused already."""
    return bool((yield Query("queues/pause", {"queue": check_name("queue", queue)})))


def resume(queue: str) -> Operation[bool]:
    """Let a paused queue be claimed again. Audited. False where it was not paused."""
    return bool((yield Query("queues/resume", {"queue": check_name("queue", queue)})))

"""From rows to the model, in one place."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from howdah.model.job import AttemptError, ClaimedJob, Job, JobState, Lease
from howdah.model.repeats import Trace
from howdah.store.operation import Row


def claimed_job(row: Row) -> ClaimedJob:
    """A row of `jobs/claim`."""
    return ClaimedJob(
        id=row["id"],
        kind=row["kind"],
        args=row["args"],
        queue=row["queue"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        key=row["key"],
        subject=row["subject"],
        needs_start=row["needs_start"],
        headers=row["headers"],
        lease=Lease(row["id"], row["attempt"], row["worker"], row["lease_expires_at"]),
        lease_seconds=row["lease_seconds"],
        follow_up=row["follow_up"],
        has_crashed=row["has_crashed"],
    )


def job(row: Row) -> Job:
    """A row of `howdah.all_jobs`."""
    fields: dict[str, Any] = {name: row[name] for name in Job.__dataclass_fields__}
    fields["state"] = JobState(row["state"])
    fields["errors"] = [attempt_error(entry) for entry in row["errors"]]
    return Job(**fields)


def attempt_error(entry: dict[str, Any]) -> AttemptError:
    """An entry of `errors`. One that somebody else wrote may lack parts."""
    return AttemptError(
        attempt=entry.get("attempt", 0),
        at=datetime.fromisoformat(entry["at"]) if "at" in entry else datetime.min,  # noqa: DTZ901
        event=entry.get("event", "failed"),
        type=entry.get("type", ""),
        message=entry.get("message", ""),
        traceback=entry.get("traceback"),
        worker=entry.get("worker"),
    )


def trace(row: Row) -> Trace:
    """A row of `jobs/traces`."""
    return Trace(
        JobState(row["state"]), row["attempt"], row["settled_by"], row["settled_event"], row["settled_attempt"]
    )

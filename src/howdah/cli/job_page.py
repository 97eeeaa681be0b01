"""One job laid out for a person who has to decide what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from howdah.cli.main import printable
from howdah.cli.show import one_line
from howdah.model.job import FINAL, JobState

if TYPE_CHECKING:
    from howdah.model.job import AttemptError, Job

_WIDTH = 15


def lines(job: Job, reason: str, audit: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The page, line by line; nothing in it is obeyed by a terminal or can pass for another line."""
    yield f"job {job.id} is {job.state.upper()}"
    yield from _fields({"why": reason, "you can": _advice(job)})
    yield ""
    yield from _fields(_facts(job))
    for title, value in (("args", job.args), ("progress", job.progress), ("result", job.result)):
        if value not in (None, {}):
            yield ""
            yield title
            yield from _indented(json.dumps(value, indent=2, ensure_ascii=False))
    if job.errors:
        yield ""
        yield f"errors, newest first ({len(job.errors)})"
        for error in reversed(job.errors):
            yield from _error(error)
    if audit:
        yield ""
        yield "what operators did, newest first"
        for entry in audit:
            yield f"    {_audited(entry)}"


def _advice(job: Job) -> str | None:
    if job.state is JobState.UNKNOWN:
        return f"howdah jobs resolve {job.id} --as completed|discarded|available --note TEXT"
    if job.state in FINAL:
        return f"howdah jobs requeue {job.id}" if job.state is not JobState.COMPLETED else None
    return f"howdah jobs cancel {job.id}" if job.cancel_requested_at is None else None


def _facts(job: Job) -> dict[str, Any]:
    counted = job.attempt - job.excused
    notes = [f"{job.excused} excused"] * bool(job.excused) + [f"{job.crashes} crashed"] * bool(job.crashes)
    return {
        "kind": job.kind,
        "queue": job.queue + (f", priority {job.priority}" if job.priority else ""),
        "attempts": f"{counted} of {job.max_attempts}" + (f" ({', '.join(notes)})" if notes else ""),
        "key": job.key,
        "subject": job.subject,
        "superseded by": job.superseded_by,
        "tags": ", ".join(job.tags) or None,
        "headers": ", ".join(f"{name}={text}" for name, text in job.headers.items()) or None,
        "worker": job.worker,
        "enqueued": job.created_at,
        "due": job.run_at if job.run_at != job.created_at else None,
        "expires": job.expires_at,
        "claimed": job.claimed_at,
        "started": job.started_at,
        "lease until": job.lease_expires_at,
        "asked to end": job.cancel_requested_at,
        "finished": job.finished_at,
        "settled": f"by {job.settled_by}: {job.settled_event}" if job.settled_by else None,
    }


def _fields(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if value is not None:
            yield f"{name:<{_WIDTH}}{_said(value)}"


def _error(error: AttemptError) -> Iterator[str]:
    by = f", on {error.worker}" if error.worker else ""
    at = "" if error.at == datetime.min else f", {_said(error.at)}"  # noqa: DTZ901  one that somebody else wrote
    yield one_line(f"  attempt {error.attempt} {error.event}{at}{by}")
    yield from _indented(f"{error.type}: {error.message}")
    yield from _indented((error.traceback or "").rstrip(), "    | ")


def _audited(entry: Mapping[str, Any]) -> str:
    detail = entry["detail"] or {}
    step = f", {detail['from']} to {detail['to']}" if {"from", "to"} <= detail.keys() else ""
    note = f": {entry['note']}" if entry["note"] else ""
    return one_line(f"{_said(entry['at'])}  {entry['action']} by {entry['actor']}{step}{note}")


def _indented(text: str, margin: str = "    ") -> Iterator[str]:
    for line in text.splitlines():
        yield margin + printable(line)


def _said(value: Any) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S%z}" if isinstance(value, datetime) else one_line(str(value))

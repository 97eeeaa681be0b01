"""One job laid out for a person who has to decide what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from howdah.cli.main import printable
from howdah.cli.show import one_line, stamp
from howdah.cli.tracebacks import without_ours
from howdah.model.claimability import how_to_resolve
from howdah.model.job import FINAL, JobState

if TYPE_CHECKING:
    from howdah.model.job import AttemptError, Job

_WIDTH = 15


def lines(job: Job, reason: str, audit: Sequence[Mapping[str, Any]], now: datetime) -> Iterator[str]:
    """The page, line by line; nothing in it is obeyed by a terminal or can pass for another line."""
    yield f"job {job.id} is {job.state.upper()}"
    yield from _fields({"why": reason, "you can": _advice(job, now)})
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
        yield from _errors(job.errors)
    if audit:
        yield ""
        yield "what operators did, newest first"
        for entry in audit:
            yield f"    {_audited(entry)}"


def _advice(job: Job, now: datetime) -> str | None:
    if job.state is JobState.UNKNOWN:
        return how_to_resolve(job.id)
    if job.state is JobState.RUNNING and job.lease_expires_at is not None and job.lease_expires_at <= now:
        return "howdah sweep"
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


def _errors(errors: Sequence[AttemptError]) -> Iterator[str]:
    """The newest first; what several attempts have in common is told once."""
    told: dict[str, int] = {}
    for _, same in groupby(reversed(errors), key=lambda error: (error.event, error.type, error.message)):
        newest, *older = same
        yield one_line(f"  {_attempts(newest, older)}")
        yield from _indented(f"{newest.type}: {newest.message}")
        if newest.event == "undecodable":  # the handler was never called
            continue
        traceback = without_ours(newest.traceback or "")
        if traceback and traceback in told:
            yield f"    | as in attempt {told[traceback]}"
        else:
            told[traceback] = newest.attempt
            yield from _indented(traceback, "    | ")


def _attempts(newest: AttemptError, older: Sequence[AttemptError]) -> str:
    parts = [f"attempt {newest.attempt} {newest.event}"]
    if older:
        parts = [f"attempts {older[-1].attempt}-{newest.attempt} {newest.event}, all the same"]
    if newest.at != datetime.min:  # noqa: DTZ901  one that somebody else wrote
        parts.append(("the last " if older else "") + stamp(newest.at))
    if newest.worker:
        parts.append(f"on {newest.worker}")
    return ", ".join(parts)


def _audited(entry: Mapping[str, Any]) -> str:
    detail = entry["detail"] or {}
    step = f", {detail['from']} to {detail['to']}" if {"from", "to"} <= detail.keys() else ""
    note = f": {entry['note']}" if entry["note"] else ""
    return one_line(f"{_said(entry['at'])}  {entry['action']} by {entry['actor']}{step}{note}")


def _indented(text: str, margin: str = "    ") -> Iterator[str]:
    for line in text.splitlines():
        yield margin + printable(line)


def _said(value: Any) -> str:
    return stamp(value) if isinstance(value, datetime) else one_line(str(value))

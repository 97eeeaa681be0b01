"""What the queues, the workers and the jobs themselves say."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from howdah.diagnosis.finding import Finding, Severity
from howdah.diagnosis.limits import Limits
from howdah.model.claimability import how_to_resolve
from howdah.model.spoken import counted, lasting

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]

SCAN = 1_000  # what a statement counts at most: kept equal to the LIMITs of sql/doctor


def sweeps(rows: Rows, limits: Limits) -> list[Finding]:
    """Workers that live sweep each second: where none does, something is wrong with them."""
    workers = sum(row["workers"] for row in rows)
    age = min((row["seconds"] for row in rows if row["seconds"] is not None), default=None)
    if not workers or (age is not None and age <= limits.sweep_age):
        return []
    since = f"for {lasting(age)}" if age is not None else "yet"
    return [
        Finding(
            "sweeps",
            Severity.WARNING,
            f"nobody has swept {since}, with {counted(workers, 'worker')} alive",
            "Look for 'howdah.sweep' in the workers' log; meanwhile run: howdah sweep",
            {"workers": workers, "last_sweep_seconds": age},
        )
    ]


def expired_leases(rows: Rows, limits: Limits) -> list[Finding]:
    """Leases that are over and that no reaper has settled."""
    if not rows:
        return []
    oldest = max(row["seconds"] for row in rows)
    return [
        Finding(
            "expired-leases",
            Severity.PROBLEM,
            f"no reaper has settled {_count(rows, 'lease')} that ran out, the first {lasting(oldest)} ago",
            "Any worker reaps; without one run: howdah sweep. One that stays has an error in the sweep's log.",
            {"jobs": _ids(rows), "workers": sorted({row["worker"] for row in rows[:5]}), "oldest_seconds": oldest},
        )
    ]


def overdue_jobs(rows: Rows, limits: Limits) -> list[Finding]:
    """Scheduled jobs whose time has come and that nobody has made available."""
    if not rows:
        return []
    oldest = max(row["seconds"] for row in rows)
    return [
        Finding(
            "overdue-jobs",
            Severity.PROBLEM,
            f"nobody promotes {_count(rows, 'scheduled job')}, the first due for {lasting(oldest)}",
            "Any worker does; without one run: howdah sweep",
            {"jobs": _ids(rows), "oldest_seconds": oldest},
        )
    ]


def unserved_queues(rows: Rows, limits: Limits) -> list[Finding]:
    """Queues whose jobs nobody claims."""
    return [
        Finding(
            "unserved-queues",
            Severity.WARNING,
            f"queue {row['queue']} has had work for {lasting(row['waiting'])}, and no worker",
            f"Start one: howdah worker -m MODULE -q {shlex.quote(row['queue'] + ':10')}",
            {"queue": row["queue"], "waiting_seconds": row["waiting"]},
        )
        for row in rows
        if row["paused"] is None and not row["workers"] and (row["waiting"] or 0) > limits.waiting
    ]


def paused_queues(rows: Rows, limits: Limits) -> list[Finding]:
    """Queues that somebody has paused, and perhaps forgotten."""
    return [
        Finding(
            "paused-queues",
            Severity.WARNING if row["waiting"] is not None and row["paused"] > limits.paused else Severity.NOTE,
            f"queue {row['queue']} has been paused for {lasting(row['paused'])}"
            + ("" if row["waiting"] is None else ", and jobs wait in it"),
            f"howdah queues resume {shlex.quote(row['queue'])}",
            {"queue": row["queue"], "paused_seconds": row["paused"], "waiting_seconds": row["waiting"]},
        )
        for row in rows
        if row["paused"] is not None
    ]


def unknown_kinds(rows: Rows, limits: Limits) -> list[Finding]:
    """Kinds that no code has declared, or that none of the workers of today has a handler for."""
    return [
        Finding(
            "unknown-kinds",
            Severity.WARNING,
            f"{_many(row['jobs'], 'job')} of kind {row['kind']} waiting, and no worker of today has a handler for them",
            f"Start a worker with the module that defines it, or: howdah jobs cancel --kind {shlex.quote(row['kind'])}",
            {"kind": row["kind"], "jobs": row["jobs"], "put_off": row["put_off"], "oldest_seconds": row["seconds"]},
        )
        for row in rows
        if row["seconds"] > limits.waiting
    ]


def lost_workers(rows: Rows, limits: Limits) -> list[Finding]:
    """Workers that are silent. A note: their leases expire by themselves, and that is what is checked."""
    return [
        Finding(
            "lost-workers",
            Severity.NOTE,
            f"worker {row['worker']} has been silent for {lasting(row['heartbeat_age_seconds'])}",
            f"See whether process {row['pid']} on {row['hostname']} still runs. Its leases expire by themselves; "
            "its name is forgotten after a day.",
            {"worker": row["worker"], "hostname": row["hostname"], "pid": row["pid"], "status": row["status"]},
        )
        for row in rows
        if row["status"] in ("late", "lost")
    ]


def stuck_slots(rows: Rows, limits: Limits) -> list[Finding]:
    """Handlers that do not end: a thread cannot be killed, so each keeps its slot."""
    return [
        Finding(
            "stuck-slots",
            Severity.WARNING,
            f"worker {row['worker']}: {row['stuck']} of {row['slots']} slots are held by handlers that do not end",
            "Let the handler look at ctx.cancel_requested, and give what it calls a timeout. "
            f"To free the slots, stop process {row['pid']} on {row['hostname']}; a new one takes over.",
            {"worker": row["worker"], "stuck": row["stuck"], "slots": row["slots"], "pid": row["pid"]},
        )
        for row in rows
        if row["stuck"] > 0 and row["status"] != "lost"
    ]


def loops(rows: Rows, limits: Limits) -> list[Finding]:
    """Attempts that are excused use no budget: a job can be given back, or put off, for ever."""
    released = [row for row in rows if row["settled_event"] == "release" and row["excused"] >= limits.released]
    snoozed = [row for row in rows if row["settled_event"] == "snooze" and row["excused"] >= limits.snoozed]
    ids = " ".join(str(job_id) for job_id in _ids(released))
    return [
        Finding("loops", severity, f"{what} again and again: {_count(found, 'job')}", advice, _looped(found))
        for found, severity, what, advice in (
            (
                released,
                Severity.WARNING,
                "given back",
                f"Workers stop before it begins, or its handler releases it: see the log, or howdah jobs cancel {ids}",
            ),
            (
                snoozed,
                Severity.NOTE,
                "put off",
                "A handler that waits by Snooze is fine. Otherwise the workers of its queue do not know its kind.",
            ),
        )
        if found
    ]


def unknown_jobs(rows: Rows, limits: Limits) -> list[Finding]:
    """Parked jobs: each began, and its worker vanished."""
    if not rows:
        return []
    oldest = max(row["seconds"] for row in rows)
    return [
        Finding(
            "unknown-jobs",
            Severity.WARNING,
            f"{_count(rows, 'job')} for a person to resolve: its worker vanished, the first {lasting(oldest)} ago",
            f"Find out what happened, then: {how_to_resolve(rows[0]['id'])}",
            {"jobs": _ids(rows), "kinds": sorted({row["kind"] for row in rows[:5]}), "oldest_seconds": oldest},
        )
    ]


def _looped(rows: Rows) -> dict[str, Any]:
    worst = max((row["excused"] for row in rows), default=0)
    return {"jobs": _ids(rows), "kinds": sorted({row["kind"] for row in rows[:5]}), "excused": worst}


def _ids(rows: Rows) -> list[int]:
    return [row["id"] for row in rows[:5]]


def _count(rows: Rows, what: str) -> str:
    return _many(len(rows), what)


def _many(count: int, what: str) -> str:
    return counted(count, what, most=SCAN)

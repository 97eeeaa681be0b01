"""Settling: the reports of workers, and every other step that the statement `jobs/settle` decides."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec

from howdah.model.errors import LeaseLost
from howdah.model.job import ClaimedJob, JobState, Lease
from howdah.model.outcome import Actor, Event, Report
from howdah.model.repeats import first_answer, is_repeat, lost_reason
from howdah.store import rows
from howdah.store.operation import Operation, Query

Settled: TypeAlias = JobState | LeaseLost
Reports: TypeAlias = Sequence[tuple[Lease, Report]]


def settle_reports(
    reports: Reports, *, plain: Container[int] = (), in_transaction: bool = False
) -> Operation[list[Settled]]:
    """Settle attempts; the answers are in the order of the reports.

    `plain`: the ids of jobs that have neither key nor subject, so that their completions can take the short way
    (whatever does not fit it is settled the long way). `in_transaction`: a completion that is outdated writes nothing,
    so that the caller rolls back. A report that is repeated is answered as before.
    """
    answers: list[Settled] = []
    for batch in _one_report_a_job(reports):
        done = yield from _complete([(lease, report) for lease, report in batch if lease.job_id in plain])
        rest = [(lease, report) for lease, report in batch if lease.job_id not in done]
        done.update((yield from settle(rest, in_transaction=in_transaction)))
        missing = [(lease, report) for lease, report in rest if lease.job_id not in done]
        lost = yield from _explain(missing, in_transaction)
        answers.extend(done.get(lease.job_id) or lost[lease.job_id] for lease, _ in batch)
    return answers


def settle_one(lease: Lease, report: Report, *, in_transaction: bool = False) -> Operation[JobState]:
    """Settle one attempt. Raises LeaseLost."""
    return _or_raise((yield from settle_reports([(lease, report)], in_transaction=in_transaction))[0])


def settle_in_transaction(job: ClaimedJob, report: Report) -> Operation[JobState]:
    """Settle an attempt in the transaction of its handler. Raises LeaseLost, also where the job is outdated."""
    plain = (job.id,) if job.is_plain else ()
    return _or_raise((yield from settle_reports([(job.lease, report)], plain=plain, in_transaction=True))[0])


def settle(
    reports: Reports,
    *,
    actor: Actor = Actor.WORKER,
    targets: Sequence[JobState] = (),
    note: str | None = None,
    in_transaction: bool = False,
) -> Operation[dict[int, JobState]]:
    """The new state of each job that took its step; the others were not in a state to take it.

    `targets` are the states that `resolve` leads to; `note` goes into the audit.
    """
    if not reports:
        return {}
    found = yield Query(
        "jobs/settle",
        {
            "ids": [lease.job_id for lease, _ in reports],
            "tokens": [lease.token for lease, _ in reports],
            "events": [report.event for _, report in reports],
            "delays": [report.delay for _, report in reports],
            "excused": [report.excused for _, report in reports],
            "permanent": [report.permanent for _, report in reports],
            "results": [report.result for _, report in reports],
            "errors": [_entry(report) for _, report in reports],
            "targets": list(targets) or [None] * len(reports),
            "actor": actor,
            "note": note,
            "in_transaction": in_transaction,
        },
    )
    return {row["id"]: JobState(row["state"]) for row in found}


def without_lease(job_id: int, token: int = 0) -> Lease:
    """Names a job to `settle` for a step that no lease guards: an operator's, or the reaper's."""
    return Lease(job_id, token, "", datetime.fromtimestamp(0, UTC))


def _or_raise(answer: Settled) -> JobState:
    if isinstance(answer, LeaseLost):
        raise answer
    return answer


def _complete(batch: Reports) -> Operation[dict[int, Settled]]:
    plain = [(lease, report) for lease, report in batch if report.event is Event.COMPLETE]
    if not plain:
        return {}
    found = yield Query(
        "jobs/complete",
        {
            "ids": [lease.job_id for lease, _ in plain],
            "tokens": [lease.token for lease, _ in plain],
            "results": [report.result for _, report in plain],
        },
    )
    return {row["id"]: JobState.COMPLETED for row in found}


def _explain(missing: Reports, in_transaction: bool) -> Operation[dict[int, Settled]]:
    if not missing:
        return {}
    found = yield Query("jobs/traces", {"ids": [lease.job_id for lease, _ in missing]})
    traces = {row["n"]: rows.trace(row) for row in found}
    answers: dict[int, Settled] = {}
    for place, (lease, report) in enumerate(missing, start=1):
        trace = traces.get(place)
        if trace and is_repeat(trace, lease.token, report.event):
            answers[lease.job_id] = first_answer(trace, report.event, excused=report.excused)
            continue
        reason = lost_reason(trace, lease.token)
        if trace and in_transaction and trace.state is JobState.RUNNING and trace.attempt == lease.token:
            reason = "superseded"
        evidence = trace and trace.state is JobState.UNKNOWN and trace.attempt == lease.token
        if evidence and not in_transaction:  # there it would be rolled back
            yield Query("jobs/keep_evidence", _evidence(lease, report))
        answers[lease.job_id] = LeaseLost(lease, trace.state if trace else None, reason)
    return answers


def _evidence(lease: Lease, report: Report) -> dict[str, Any]:
    said = report.error.message if report.error else report.result or ""
    return {
        "id": lease.job_id,
        "token": lease.token,
        "worker": lease.worker,
        "event": report.event,
        "message": f"{report.event} came after the lease had ended" + (f": {said[:1000]}" if said else ""),
    }


def _entry(report: Report) -> str | None:
    if report.error is None:
        return None
    error = report.error
    fields = {"event": error.event, "type": error.type, "message": error.message, "traceback": error.traceback}
    return msgspec.json.encode(fields).decode()


def _one_report_a_job(reports: Reports) -> Iterator[Reports]:
    """The reports cut where a job comes again: one statement can take only one step with a job."""
    batch: dict[int, tuple[Lease, Report]] = {}
    for lease, report in reports:
        if lease.job_id in batch:
            yield list(batch.values())
            batch = {}
        batch[lease.job_id] = (lease, report)
    if batch:
        yield list(batch.values())

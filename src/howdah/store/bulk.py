"""The same step with many jobs: a job that cannot take it never stops the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import psycopg

from howdah.model.errors import HowdahError
from howdah.model.job import Job, JobState
from howdah.model.limits import MAX_NOTE, check_name
from howdah.store import jobs
from howdah.store.drivers import lacks_partition
from howdah.store.operation import Operation, Procedure
from howdah.store.sweeping import ensure_partitions

# Where each job stands now, or why it did not take the step.
Answers: TypeAlias = Mapping[int, JobState | Exception]
Step: TypeAlias = Callable[[Sequence[int]], Operation[Answers]]


def cancel(ids: Sequence[int]) -> Procedure[Answers]:
    """Cancel, or ask to end, each of a batch: together, or one by one where a row is bad."""
    try:
        answers: Answers = yield jobs.cancel_each(ids)
    except psycopg.errors.InsufficientPrivilege:
        raise
    except psycopg.Error:
        answers = yield from _one_by_one(jobs.cancel_each, ids)
    return answers


def requeue(ids: Sequence[int]) -> Procedure[Answers]:
    """Put each of a batch back, in a transaction of its own: several would hold keys and wait for others'."""
    return (yield from _one_by_one(lambda one: _answer(one, jobs.requeue), ids))


def resolve(ids: Sequence[int], state: JobState, note: str) -> Procedure[Answers]:
    """Say of each how it ended."""
    check_name("note", note, limit=MAX_NOTE)
    return (yield from _one_by_one(lambda one: _answer(one, lambda job_id: jobs.resolve(job_id, state, note)), ids))


def _one_by_one(step: Step, ids: Sequence[int]) -> Procedure[Answers]:
    answers: dict[int, JobState | Exception] = {}
    for job_id in ids:
        try:
            answers.update((yield from _making_a_day(step, job_id)))
        except psycopg.errors.InsufficientPrivilege:
            raise
        except psycopg.Error as error:
            answers[job_id] = error
    return answers


def _making_a_day(step: Step, job_id: int) -> Procedure[Answers]:
    try:
        answers: Answers = yield step([job_id])
    except psycopg.Error as error:
        if not lacks_partition(error):
            raise
        yield ensure_partitions()
        answers = yield step([job_id])
    return answers


def _answer(ids: Sequence[int], step: Callable[[int], Operation[Job]]) -> Operation[Answers]:
    (job_id,) = ids
    try:
        return {job_id: (yield from step(job_id)).state}
    except HowdahError as error:
        return {job_id: error}

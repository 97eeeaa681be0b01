"""How attempts ended: counted for a drain, logged, and told to observers."""

from __future__ import annotations

import logging
from collections import Counter

from howdah.events import JobLost, JobSettled
from howdah.model.errors import LeaseLost
from howdah.model.job import Drained, JobState
from howdah.model.outcome import Report
from howdah.worker.attempt import Attempt
from howdah.worker.observers import Observers
from howdah.worker.source import Settled
from howdah.worker.verdict import GIVEN_BACK

NAMES = {
    JobState.COMPLETED: "completed",
    JobState.DISCARDED: "discarded",
    JobState.CANCELLED: "cancelled",
    JobState.SUPERSEDED: "cancelled",
}

log = logging.getLogger(__name__)


class Tally:
    """Counts settled attempts; those that were given back unrun do not count."""

    def __init__(self, observers: Observers) -> None:
        self._counts: Counter[str] = Counter()
        self._observers = observers

    def lost(self, attempt: Attempt, refusal: LeaseLost | None = None) -> None:
        """An attempt whose report was refused, or that has none."""
        if refusal is not None:
            log.info("refused: %s", refusal)
        if self._observers:
            self._observers.tell(JobLost(attempt.job, attempt.took, refusal))

    def record(self, attempt: Attempt, report: Report, answer: Settled) -> None:
        """One report and what became of it."""
        if isinstance(answer, LeaseLost):
            self.lost(attempt, answer)
            return
        job = attempt.job
        if self._observers:
            self._observers.tell(JobSettled(job, str(report.event), answer, attempt.took, report.error))
        if report is GIVEN_BACK:
            log.debug("job %d (%s) is given back", job.id, job.kind)
            return
        self._counts[NAMES.get(answer) or ("snoozed" if report.excused else "failed")] += 1
        if report.error is None:
            log.debug("job %d (%s), attempt %d: %s", job.id, job.kind, job.attempt, answer)
            return
        level = logging.WARNING if answer is JobState.DISCARDED else logging.INFO
        said = f"{report.error.type}: {report.error.message}"
        log.log(level, "job %d (%s), attempt %d: %s, %s", job.id, job.kind, job.attempt, answer, said)

    def drained(self) -> Drained:
        """The counts so far."""
        return Drained(**self._counts)

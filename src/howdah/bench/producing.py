"""Producers: processes that enqueue one by one, and what they said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from howdah.bench.crew import Crew
from howdah.bench.place import Database

KEPT_UP = 0.95  # of the rate that was asked for


@dataclass(frozen=True, slots=True)
class Produced:
    """`seconds`: from the first call until the last return. `sent`: when the call for a job began."""

    jobs: int
    seconds: float
    sent: dict[int, float]

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds

    @classmethod
    def of(cls, answers: Sequence[dict[str, Any]], jobs: int) -> Produced:
        """All producers together."""
        seconds = max(answer["ended"] for answer in answers) - min(answer["began"] for answer in answers)
        sent = {int(n): at for answer in answers for n, at in answer["sent"].items()}
        return cls(jobs, max(seconds, 1e-6), sent)


def produce(
    database: Database,
    role: str,
    jobs: int,
    clients: int,
    *,
    kind: str = "bench.noop",
    payload: int,
    rate: float = 0.0,
    notify: bool = False,
) -> Produced:
    """`jobs` jobs by so many clients, each its own part; at a rate in all, or as fast as it goes."""
    each = jobs // clients
    common = {"kind": kind, "payload": payload, "jobs": each, "rate": rate / clients, "notify": notify}
    with Crew(role, database.dsn, [{**common, "first": n * each} for n in range(clients)]) as crew:
        return Produced.of(crew.ready().go().answers(), each * clients)


def too_slow(produced: Produced, rate: float) -> tuple[str, ...]:
    """Why a run does not count whose producers did not keep up."""
    if produced.rate >= KEPT_UP * rate:
        return ()
    return (f"the producers made {produced.rate:,.0f} of {rate:,.0f} jobs per second",)

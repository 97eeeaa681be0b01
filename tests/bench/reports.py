"""Reports to compare and to print, made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from howdah.bench.result import CaseResult, Conditions, Report, Run, ScenarioResult, Size

CONDITIONS = Conditions({"howdah": "1", "Python": "3.11"}, {"cores": "2"}, {"fsync": "on"}, {"poll": "1 s"})
RATE = "jobs_per_second"


def runs(*rates: float, **others: Any) -> tuple[Run, ...]:
    return tuple(Run({RATE: rate}, **others) for rate in rates)


def scenario(cases: Mapping[str, Sequence[Run]], *, number: int = 1, small: bool = False) -> ScenarioResult:
    results = tuple(CaseResult(name, tuple(runs)) for name, runs in cases.items())
    return ScenarioResult(number, f"scenario-{number}", Size(jobs=10), small, results)


def drained(howdah: Sequence[float], raw: Sequence[float]) -> ScenarioResult:
    return scenario({"howdah": runs(*howdah), "raw": runs(*raw)})


def report(*scenarios: ScenarioResult, conditions: Conditions = CONDITIONS) -> Report:
    return Report(conditions, scenarios)

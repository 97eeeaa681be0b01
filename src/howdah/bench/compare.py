"""Has it become slower? Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from howdah.bench.figures import FIGURES, Better, Spread
from howdah.bench.result import CaseResult, Report, ScenarioResult
from howdah.bench.scenario import Scenario
from howdah.bench.target import value

TOLERANCE = 0.1  # of the median; less than that is the machine's


@dataclass(frozen=True, slots=True)
class Change:
    """One thing measured twice. `factor`: after / before."""

    scenario: str
    what: str
    before: Spread
    after: Spread
    factor: float
    verdict: Literal["worse", "better", "same"]


def compare(before: Report, after: Report, scenarios: dict[int, Scenario]) -> list[Change]:
    """What is in both reports. Absolute figures are compared only where all conditions but the release are equal."""
    earlier = {found.number: found for found in before.scenarios}
    changes: list[Change] = []
    for new in after.scenarios:
        old = earlier.get(new.number)
        if old is None or old.size != new.size:
            continue
        changes += _ratios(old, new, scenarios[new.number])
        if before.conditions.same(after.conditions):
            changes += _absolute(old, new)
    return changes


def change(scenario: str, what: str, before: Spread, after: Spread, better: Better) -> Change:
    """Better or worse only where the medians are further apart than the tolerance and the spreads do not overlap."""
    factor = after.median / before.median if before.median else 1.0
    apart = after.low > before.high or after.high < before.low
    if better is None or not apart or abs(factor - 1) <= TOLERANCE:
        return Change(scenario, what, before, after, factor, "same")
    rose = after.median > before.median
    return Change(scenario, what, before, after, factor, "better" if rose == (better == "higher") else "worse")


def _ratios(old: ScenarioResult, new: ScenarioResult, scenario: Scenario) -> Iterator[Change]:
    for target in scenario.targets:
        before, after = value(target, old), value(target, new)
        if target.over is not None and before and after:
            yield change(new.name, str(target), before, after, "higher" if target.relation == ">=" else "lower")


def _absolute(old: ScenarioResult, new: ScenarioResult) -> Iterator[Change]:
    for case in new.cases:
        earlier = old.case(case.name)
        if earlier is not None:
            yield from _figures(new.name, earlier, case)


def _figures(scenario: str, old: CaseResult, new: CaseResult) -> Iterator[Change]:
    for name, figure in FIGURES.items():
        before, after = old.spread(name), new.spread(name)
        if before and after:
            yield change(scenario, f"{new.name}: {name}", before, after, figure.better)

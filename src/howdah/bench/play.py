"""Plays scenarios: in rounds, the cases of a round in turn and every other round backwards, so that noise hits all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import psycopg

from howdah.bench.place import Bench
from howdah.bench.result import CaseResult, Run, ScenarioResult, Size
from howdah.bench.scenario import Case, Scenario
from howdah.model.errors import HowdahError


def play(
    bench: Bench, scenario: Scenario, size: Size, runs: int, tell: Callable[[str], None], *, small: bool
) -> ScenarioResult:
    """All runs of one scenario. One that fails is a wrong one: the others go on."""
    found: dict[str, list[Run]] = {case.name: [] for case in scenario.cases}
    rounds = runs if size.most_runs is None else min(runs, size.most_runs)
    try:
        for number in range(rounds):
            for case in scenario.cases if number % 2 == 0 else reversed(scenario.cases):
                tell(f"{scenario.number} {scenario.name}, {number + 1} of {rounds}: {case.name}")
                found[case.name].append(_measured(bench, case, size))
    finally:
        bench.forget()
    cases = tuple(CaseResult(name, tuple(runs)) for name, runs in found.items())
    return ScenarioResult(scenario.number, scenario.name, size, small, cases)


def chosen(scenario: Scenario, *, small: bool, jobs: int | None, processes: int | None, payload: int | None) -> Size:
    """The size to play: the scenario's, with what the caller says otherwise."""
    size = scenario.small if small else scenario.full
    said = {"jobs": jobs, "processes": processes, "payload": payload}
    return replace(size, **{name: value for name, value in said.items() if value is not None})


def _measured(bench: Bench, case: Case, size: Size) -> Run:
    try:
        return case.measure(bench, size)
    except (HowdahError, psycopg.Error, AssertionError) as error:
        return Run({}, wrong=(f"{type(error).__name__}: {error}",))

"""Every scenario, as small as can be: whether it works and its checks hold, never how fast."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from howdah.bench.place import Bench
from howdah.bench.play import play
from howdah.bench.scenarios import SCENARIOS

LITTLE: dict[int, dict[str, Any]] = {
    1: {"jobs": 700},
    2: {"jobs": 700},
    3: {"jobs": 300},
    4: {"jobs": 60},
    5: {"jobs": 10},
    6: {"jobs": 100},
    7: {"jobs": 4},
    8: {"jobs": 40, "seconds": 0.3},
    9: {"jobs": 700},
    11: {"jobs": 5_000, "processes": 3, "seconds": 1.0},
    12: {"jobs": 20, "processes": 1, "seconds": 1.0},
    13: {"seconds": 0.5},
    14: {"jobs": 1_000},
    15: {"jobs": 500},
    16: {"jobs": 10},
}
# A busy machine can make a run invalid: these need a moment in which the producers are on time.
MAY_BE_INVALID = {7, 8, 11}


@pytest.mark.parametrize("number", SCENARIOS)
def test_a_scenario_runs_and_its_checks_hold(bench: Bench, number: int) -> None:
    scenario = SCENARIOS[number]
    size = replace(scenario.small, **LITTLE.get(number, {}))
    found = play(bench, scenario, size, 1, lambda _: None, small=True)
    assert found.wrong == []
    runs = {case.name: run for case in found.cases for run in case.runs}
    assert runs.keys() == {case.name for case in scenario.cases}
    if number not in MAY_BE_INVALID:
        assert {name: run.invalid for name, run in runs.items() if run.invalid} == {}
    for target in scenario.targets:
        run = runs[target.case]
        assert target.figure in run.figures.keys() | run.omitted.keys() or not run.counts, target

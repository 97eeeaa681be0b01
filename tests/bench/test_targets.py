"""When a target is met, and what counts for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from howdah.bench.figures import FIGURES, Spread
from howdah.bench.scenarios import SCENARIOS
from howdah.bench.target import Target, judge, value
from tests.bench.reports import RATE, drained, runs, scenario

RATIO = Target("howdah", RATE, ">=", 0.85, over=("raw", RATE))


def test_a_ratio_is_taken_round_by_round() -> None:
    noisy = drained(howdah=[90, 45, 9], raw=[100, 50, 10])  # the machine became slower and slower
    assert value(RATIO, noisy) == Spread(0.9, 0.9, 0.9, 3)


@pytest.mark.parametrize(("rate", "met"), [(84, False), (85, True)])
def test_a_target_is_met_by_the_median(rate: float, met: bool) -> None:
    assert judge(RATIO, drained(howdah=[10, rate, 200], raw=[100, 100, 100])).met is met


@pytest.mark.parametrize(("rate", "met"), [(5.1, False), (5.0, True)])
def test_an_upper_bound_is_one(rate: float, met: bool) -> None:
    assert judge(Target("howdah", RATE, "<=", 5.0), scenario({"howdah": runs(rate)})).met is met


@pytest.mark.parametrize("why", [{"invalid": ("slow producers",)}, {"wrong": ("1 job never ran",)}])
def test_a_round_does_not_count_if_either_side_does_not(why: dict[str, tuple[str, ...]]) -> None:
    found = scenario({"howdah": runs(90, 10), "raw": runs(100) + runs(10, **why)})
    assert value(RATIO, found) == Spread(0.9, 0.9, 0.9, 1)


def test_without_a_valid_run_there_is_no_verdict() -> None:
    found = scenario({"howdah": runs(90, wrong=("1 job never ran",)), "raw": runs(100)})
    assert (judge(RATIO, found).value, judge(RATIO, found).met) == (None, None)


def test_a_small_size_is_not_judged() -> None:
    found = scenario({"howdah": runs(90), "raw": runs(100)}, small=True)
    assert judge(RATIO, found).met is None
    assert judge(RATIO, found).value == Spread(0.9, 0.9, 0.9, 1)


def test_a_case_may_be_its_own_yardstick() -> None:
    flat = Target("howdah", "last_per_second", ">=", 0.9, over=("howdah", "first_per_second"))
    assert str(flat) == "howdah: last_per_second ≥ 0.9 times first_per_second"
    assert str(RATIO) == "howdah: jobs_per_second ≥ 0.85 times raw"


def test_there_are_16_scenarios_with_names_of_their_own() -> None:
    assert sorted(SCENARIOS) == list(range(1, 17))
    assert len({scenario.name for scenario in SCENARIOS.values()}) == 16


def test_the_page_lists_the_scenarios_there_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    rows = re.findall(r"^\| (\d+) \| `([\w-]+)` \|", page, re.MULTILINE)
    assert rows == [(str(number), scenario.name) for number, scenario in SCENARIOS.items()]


@pytest.mark.parametrize("number", SCENARIOS)
def test_targets_speak_of_cases_and_figures_that_there_are(number: int) -> None:
    found = SCENARIOS[number]
    cases = {case.name for case in found.cases}
    terms = [(target.case, target.figure) for target in found.targets]
    terms += [target.over for target in found.targets if target.over is not None]
    assert terms
    assert {case for case, _ in terms} <= cases
    assert {figure for _, figure in terms} <= FIGURES.keys()

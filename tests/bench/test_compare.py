"""What counts as slower than before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from howdah.bench.compare import change, compare
from howdah.bench.figures import Spread
from howdah.bench.scenarios import SCENARIOS
from tests.bench.reports import CONDITIONS, drained, report

OTHER_MACHINE = replace(CONDITIONS, machine={"cores": "8"})
OTHER_RELEASE = replace(CONDITIONS, versions={**CONDITIONS.versions, "howdah": "2"}, worker={"poll": "2 s"})


def spread(low: float, median: float, high: float) -> Spread:
    return Spread(median, low, high, 3)


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        pytest.param(spread(80, 85, 89), "worse", id="apart"),
        pytest.param(spread(80, 85, 90), "same", id="the spreads touch"),
        pytest.param(spread(111, 115, 120), "better", id="faster"),
        pytest.param(spread(100, 100, 100), "same", id="no change"),
    ],
)
def test_a_change_must_be_larger_than_the_spreads(after: Spread, verdict: str) -> None:
    assert change("drain", "rate", spread(90, 100, 110), after, "higher").verdict == verdict


def test_a_change_must_be_larger_than_the_tolerance() -> None:
    assert change("drain", "rate", spread(100, 100, 100), spread(91, 91, 91), "higher").verdict == "same"
    assert change("drain", "rate", spread(100, 100, 100), spread(89, 89, 89), "higher").verdict == "worse"


def test_which_way_is_worse_depends_on_the_figure() -> None:
    before, after = spread(1, 1, 1), spread(2, 2, 2)
    assert change("latency", "p99", before, after, "lower").verdict == "worse"
    assert change("drain", "rate", before, after, "higher").verdict == "better"
    assert change("drain", "dead rows", before, after, None).verdict == "same"


def verdicts(before, after):
    return {one.what: one.verdict for one in compare(before, after, SCENARIOS)}


def test_ratios_and_figures_are_compared_on_one_machine_whatever_the_release() -> None:
    before = report(drained(howdah=[90] * 3, raw=[100] * 3))
    after = report(drained(howdah=[45] * 3, raw=[100] * 3), conditions=OTHER_RELEASE)
    assert verdicts(before, after) == {
        "howdah: jobs_per_second ≥ 0.85 times raw": "worse",
        "howdah: jobs_per_second": "worse",
        "raw: jobs_per_second": "same",
    }


def test_between_machines_only_ratios_are_compared() -> None:
    before = report(drained(howdah=[90] * 3, raw=[100] * 3))
    after = report(drained(howdah=[900] * 3, raw=[1000] * 3), conditions=OTHER_MACHINE)
    assert verdicts(before, after) == {"howdah: jobs_per_second ≥ 0.85 times raw": "same"}


def test_other_sizes_are_not_compared() -> None:
    before = drained(howdah=[90], raw=[100])
    after = replace(before, size=replace(before.size, jobs=99))
    assert compare(report(before), report(after), SCENARIOS) == []

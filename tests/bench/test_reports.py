"""Reports are kept, continued, printed and drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from howdah.bench import chart, result, tables
from howdah.bench.result import OtherConditions, Run
from howdah.bench.scenarios import SCENARIOS
from tests.bench.reports import CONDITIONS, drained, report, runs, scenario

KEPT = report(drained(howdah=[90.0, 80.0], raw=[100.0, 100.0]))


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    full = report(scenario({"a": [Run({"p50_ms": 1.5}, {"rss_mib": "no /proc"}, ("slow",), ("lost",), ((1.0, 2.0),))]}))
    result.save(full, tmp_path / "report.json")
    assert result.read(tmp_path / "report.json") == full


def test_a_later_run_adds_its_scenarios_and_replaces_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    result.save(KEPT.adding(scenario({"howdah": runs(1.0)}, number=4)), file)
    again = scenario({"howdah": runs(2.0)}, number=1)
    added = result.continued(file, CONDITIONS, small=False).adding(again)
    assert [found.number for found in added.scenarios] == [1, 4]
    assert added.scenarios[0] == again


def test_other_conditions_do_not_go_into_one_file(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    result.save(KEPT, file)
    with pytest.raises(OtherConditions, match="another file"):
        result.continued(file, replace(CONDITIONS, settings={"fsync": "off"}), small=False)
    with pytest.raises(OtherConditions):
        result.continued(file, CONDITIONS, small=True)


def test_a_new_file_begins_empty(tmp_path: Path) -> None:
    assert result.continued(tmp_path / "none.json", CONDITIONS, small=False).scenarios == ()


def test_a_target_is_printed_with_its_spread_and_its_verdict() -> None:
    [found] = KEPT.scenarios
    row = tables.target_row(found, tables.verdicts(found, SCENARIOS[1])[0])
    assert (row["measured"], row["met"]) == ("0.85 (0.8 to 0.9)", "yes")


def test_an_absolute_target_says_for_which_machine_it_is() -> None:
    [found] = KEPT.scenarios
    row = tables.target_row(found, tables.verdicts(found, SCENARIOS[1])[1])
    assert row["met"] == "no, for the machine of the target"


def test_what_does_not_count_is_said_with_its_reason() -> None:
    found = scenario({"a": [Run({}, {"rss_mib": "no /proc"}, invalid=("slow",)), Run({}, wrong=("lost",))]})
    assert tables.remarks(found) == [
        "a, run 1: invalid: slow",
        "rss_mib is omitted: no /proc",
        "a, run 2: WRONG: lost",
    ]
    assert found.wrong == ["a: lost"]


def test_the_page_has_every_scenario_and_its_figures() -> None:
    page = tables.markdown(KEPT, SCENARIOS)
    for text in (
        "### Conditions",
        "| fsync | on |",
        "### Targets",
        "### 1. scenario-1",
        "| raw | jobs_per_second | 100 (100 to 100) | 2 of 2 |",
    ):
        assert text in page


def test_the_chart_is_an_svg_with_a_line_for_each_case() -> None:
    lines = {"20 slots": [(100.0, 50.0), (200.0, 45.0)], "raw <plain>": [(100.0, 60.0), (200.0, 6.0)]}
    root = ET.fromstring(chart.svg("Throughput & time", lines))
    found = root.findall("{*}polyline")
    assert len(found) == 2
    ends = [line.attrib["points"].split()[-1].split(",") for line in found]
    assert ends[0][0] == ends[1][0]
    assert float(ends[0][1]) < float(ends[1][1])  # the slower is further down
    assert "raw <plain>" in [text.text for text in root.findall("{*}text")]


def test_the_chart_takes_the_run_in_the_middle() -> None:
    measured = [Run({}, points=((1.0, rate),)) for rate in (10.0, 30.0, 20.0)]
    assert chart.lines_of(scenario({"howdah": measured, "none": runs(1.0)})) == {"howdah": [(1.0, 20.0)]}

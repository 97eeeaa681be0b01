"""`howdah bench`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from howdah.bench import result
from howdah.cli import main
from tests.bench.reports import drained, report
from tests.support.servers import Server


def bench(*arguments: object) -> tuple[int, str]:
    ran = CliRunner().invoke(main, ["bench", *map(str, arguments)], env={"COLUMNS": "200"})
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    return ran.exit_code, ran.output


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    result.save(report(drained(howdah=[90.0] * 3, raw=[100.0] * 3)), tmp_path / "kept.json")
    return tmp_path / "kept.json"


def test_it_measures_on_a_server_and_keeps_what_it_found(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    options = ["--small", "--scenario", "args", "--jobs", "5", "-o", "json", "--save", str(file)]
    ran = subprocess.run(
        [sys.executable, "-m", "howdah", "bench", "--dsn", server.dsn, *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stderr.count("16 args")) == (0, 6)
    said, found = json.loads(ran.stdout), result.read(file)
    assert said["scenarios"][0]["name"] == "args"
    assert [len(case.runs) for case in found.scenarios[0].cases] == [3, 3]
    assert {"fsync", "synchronous_commit"} <= found.conditions.settings.keys()
    assert "prefetch, at most" in found.conditions.worker


def test_the_scenarios_are_listed_with_their_targets() -> None:
    status, out = bench("--list", "-o", "json")
    assert (status, len(json.loads(out))) == (0, 16)


def test_an_unknown_scenario_is_answered_with_those_that_there_are() -> None:
    status, out = bench("--scenario", "darin")
    assert (status, "1 drain-1" in out) == (2, True)


def test_fewer_than_three_runs_are_refused() -> None:
    assert bench("--runs", 2)[0] == 2


def test_what_was_kept_is_shown_without_measuring(kept: Path) -> None:
    status, out = bench("--show", kept)
    assert status == 0
    assert "howdah: jobs_per_second ≥ 0.85 times raw" in out
    assert "| fsync | on |" in bench("--show", kept, "-o", "markdown")[1]


def test_something_worse_than_before_is_said_and_is_a_failure(kept: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow.json"
    result.save(report(drained(howdah=[50.0] * 3, raw=[100.0] * 3)), slow)
    status, out = bench("--show", slow, "--compare", kept)
    assert (status, "worse" in out) == (1, True)
    assert bench("--show", kept, "--compare", kept)[0] == 0


def test_a_chart_needs_the_scenario_that_it_shows(kept: Path, tmp_path: Path) -> None:
    status, out = bench("--show", kept, "--chart", tmp_path / "chart.svg")
    assert (status, "horizon" in out) == (2, True)

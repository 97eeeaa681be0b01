"""What a benchmark found, as data that can be kept as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from howdah.bench.figures import Point, Spread
from howdah.model.errors import HowdahError


class OtherConditions(HowdahError):
    """Results that were measured under other conditions do not go into one file."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement of one case.

    `omitted`: figures that could not be had here, and why. `invalid`: why its figures do not count. `wrong`: a promise
    that did not hold, such as a job that did not run once.
    """

    figures: Mapping[str, float]
    omitted: Mapping[str, str] = field(default_factory=dict)
    invalid: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    points: tuple[Point, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether its figures may be used."""
        return not self.invalid and not self.wrong


@dataclass(frozen=True, slots=True)
class CaseResult:
    """All runs of one case, in the order of the rounds."""

    name: str
    runs: tuple[Run, ...]

    def spread(self, figure: str) -> Spread | None:
        """A figure over the runs that count."""
        return Spread.of(run.figures[figure] for run in self.runs if run.counts and figure in run.figures)


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured. Each scenario uses what it needs, and its page says what for.

    `processes`: workers, or clients. `slots`: of each process. `payload`: bytes of args. `seconds`: of each
    measurement. `rate`: jobs per second. `most_runs`: a scenario whose one run takes minutes needs no three.
    """

    jobs: int
    processes: int = 1
    slots: int = 100
    payload: int = 100
    seconds: float = 0.0
    rate: float = 0.0
    most_runs: int | None = None


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """One scenario: its cases ran in turn, so that a noisy machine was noisy for each."""

    number: int
    name: str
    size: Size
    small: bool
    cases: tuple[CaseResult, ...]

    def case(self, name: str) -> CaseResult | None:
        """A case by its name."""
        return next((case for case in self.cases if case.name == name), None)

    @property
    def wrong(self) -> list[str]:
        """Every promise that did not hold."""
        return [f"{case.name}: {text}" for case in self.cases for run in case.runs for text in run.wrong]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Where and with what it was measured. `worker`: its defaults, which belong to the release."""

    versions: Mapping[str, str]
    machine: Mapping[str, str]
    settings: Mapping[str, str]
    worker: Mapping[str, str]

    def same(self, other: Conditions) -> bool:
        """Whether absolute figures can be compared: all but the release of Howdah is equal."""
        ours, theirs = dict(self.versions), dict(other.versions)
        ours.pop("howdah", None)
        theirs.pop("howdah", None)
        return (ours, self.machine, self.settings) == (theirs, other.machine, other.settings)


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured."""

    conditions: Conditions
    scenarios: tuple[ScenarioResult, ...]

    def adding(self, found: ScenarioResult) -> Report:
        """With a scenario more, or anew."""
        others = [one for one in self.scenarios if one.number != found.number]
        return replace(self, scenarios=tuple(sorted([*others, found], key=lambda one: one.number)))


def save(report: Report, path: Path) -> None:
    """Write a report."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")


def read(path: Path) -> Report:
    """Read a report."""
    return msgspec.json.decode(path.read_bytes(), type=Report)


def continued(path: Path | None, conditions: Conditions, *, small: bool) -> Report:
    """What to add to: the report in the file, where there is one. Raises OtherConditions."""
    if path is None or not path.exists():
        return Report(conditions, ())
    before = read(path)
    if before.conditions != conditions or any(found.small != small for found in before.scenarios):
        raise OtherConditions(f"{path} was measured under other conditions: give --save another file")
    return before

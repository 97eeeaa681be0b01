"""Targets as data, and how far a result meets them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from howdah.bench.figures import Spread
from howdah.bench.result import Run, ScenarioResult

Term: TypeAlias = tuple[str, str]  # case, figure


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on a figure of a case, or, with `over`, on its ratio to another one.

    `there`: an absolute figure, which holds on the machine that the targets were set for and is only shown elsewhere.
    """

    case: str
    figure: str
    relation: Literal[">=", "<="]
    bound: float
    over: Term | None = None
    there: bool = False

    def __str__(self) -> str:
        sign = {">=": "≥", "<=": "≤"}[self.relation]
        if self.over is None:
            return f"{self.case}: {self.figure} {sign} {self.bound:,g}"
        case, figure = self.over
        other = ", ".join([case] * (case != self.case) + [figure] * (figure != self.figure))
        return f"{self.case}: {self.figure} {sign} {self.bound:g} times {other}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a target fared. `met` is None where nothing valid was measured, or the size is too small to judge."""

    target: Target
    value: Spread | None
    met: bool | None


def value(target: Target, found: ScenarioResult) -> Spread | None:
    """The figure, or its ratio round by round: the noise of a round is in both of its sides."""
    case = found.case(target.case)
    if case is None:
        return None
    if target.over is None:
        return case.spread(target.figure)
    other = found.case(target.over[0])
    return None if other is None else Spread.of(_ratios(target.figure, case.runs, target.over[1], other.runs))


def judge(target: Target, found: ScenarioResult) -> Verdict:
    """Compare the median with the bound."""
    measured = value(target, found)
    if measured is None or found.small:
        return Verdict(target, measured, None)
    met = measured.median >= target.bound if target.relation == ">=" else measured.median <= target.bound
    return Verdict(target, measured, met)


def _ratios(figure: str, runs: Sequence[Run], other_figure: str, others: Sequence[Run]) -> list[float]:
    return [
        run.figures[figure] / other.figures[other_figure]
        for run, other in zip(runs, others, strict=False)
        if run.counts and other.counts and figure in run.figures and other.figures.get(other_figure)
    ]

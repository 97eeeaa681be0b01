"""A report as rows: for a terminal, and as Markdown for a page. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from howdah.bench.compare import Change
from howdah.bench.figures import FIGURES, Spread
from howdah.bench.result import Conditions, Report, ScenarioResult
from howdah.bench.scenario import Scenario
from howdah.bench.target import Verdict, judge

Row: TypeAlias = dict[str, Any]


def number(value: float) -> str:
    """Three or more digits, as many as say something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def spread(value: Spread | None) -> str:
    """The median, and how far the others are."""
    if value is None:
        return "-"
    middle = number(value.median)
    return middle if value.count == 1 else f"{middle} ({number(value.low)} to {number(value.high)})"


def figure_rows(found: ScenarioResult) -> list[Row]:
    """One row for each figure of each case."""
    return [
        {
            "case": case.name,
            "figure": name,
            "median (low to high)": spread(value),
            "runs": f"{value.count} of {len(case.runs)}",
        }
        for case in found.cases
        for name in FIGURES
        if (value := case.spread(name)) is not None
    ]


def verdicts(found: ScenarioResult, scenario: Scenario) -> list[Verdict]:
    """How each of its targets fared."""
    return [judge(target, found) for target in scenario.targets]


def target_row(found: ScenarioResult, verdict: Verdict) -> Row:
    """One target, what was measured, and whether it is met."""
    return {
        "#": found.number,
        "target": str(verdict.target),
        "measured": spread(verdict.value),
        "met": _met(found, verdict),
    }


def remarks(found: ScenarioResult) -> list[str]:
    """What does not count, what is wrong, and what is missing, each with its reason."""
    said: dict[str, None] = {}
    for case in found.cases:
        for place, run in enumerate(case.runs, 1):
            said |= dict.fromkeys(f"{case.name}, run {place}: WRONG: {text}" for text in run.wrong)
            said |= dict.fromkeys(f"{case.name}, run {place}: invalid: {text}" for text in run.invalid)
            said |= dict.fromkeys(f"{figure} is omitted: {why}" for figure, why in run.omitted.items())
    return list(said)


def change_rows(changes: Sequence[Change]) -> list[Row]:
    """What has changed by more than the machine's noise."""
    return [
        {
            "scenario": one.scenario,
            "what": one.what,
            "before": spread(one.before),
            "after": spread(one.after),
            "factor": f"{one.factor:.2f}",
            "verdict": one.verdict,
        }
        for one in changes
        if one.verdict != "same"
    ]


def condition_rows(conditions: Conditions) -> list[Row]:
    """Name and value."""
    return [
        {"condition": name, "value": value}
        for part in (conditions.versions, conditions.worker, conditions.machine, conditions.settings)
        for name, value in part.items()
        if value
    ]


def markdown(report: Report, scenarios: Mapping[int, Scenario]) -> str:
    """The page's part that is generated: conditions, targets, figures."""
    return "\n".join(_page(report, scenarios))


def _page(report: Report, scenarios: Mapping[int, Scenario]) -> Iterator[str]:
    yield from _table("Conditions", condition_rows(report.conditions))
    targets = [
        target_row(found, verdict) for found in report.scenarios for verdict in verdicts(found, scenarios[found.number])
    ]
    yield from _table("Targets", targets)
    for found in report.scenarios:
        yield from _table(f"{found.number}. {found.name}", figure_rows(found))
        yield from (f"* {remark}" for remark in remarks(found))


def _table(title: str, rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"### {title}", "")
    if rows:
        yield "| " + " | ".join(rows[0]) + " |"
        yield "|" + "---|" * len(rows[0])
        yield from ("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row.values()) + " |" for row in rows)
        yield ""


def _met(found: ScenarioResult, verdict: Verdict) -> str:
    if verdict.met is None:
        return "too small to say" if found.small and verdict.value else "no valid run"
    said = "yes" if verdict.met else "no"
    return f"{said}, for the machine of the target" if verdict.target.there else said

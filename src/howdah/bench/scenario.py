"""A scenario as data: what it measures, its cases, its targets, and its sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from howdah.bench.place import Bench
from howdah.bench.result import Run, Size
from howdah.bench.target import Target

Measure: TypeAlias = Callable[[Bench, Size], Run]


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to measure, again and again, in turn with the others of its scenario."""

    name: str
    measure: Measure


@dataclass(frozen=True, slots=True)
class Scenario:
    """`small` is for correctness: its figures mean nothing."""

    number: int
    name: str
    measures: str
    cases: tuple[Case, ...]
    targets: tuple[Target, ...]
    full: Size
    small: Size

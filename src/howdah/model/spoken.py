"""Durations, moments and counts as a person says them."""

from __future__ import annotations

from datetime import datetime

_UNITS = (("s", "s", 1, 120), ("min", "m", 60, 7200), ("h", "h", 3600, 172_800))


def lasting(seconds: float) -> str:
    """A duration in a sentence: `95 s`, `12 min`, `3.5 h`, `8 days`."""
    for unit, _, length, until in _UNITS:
        if seconds < until:
            return f"{_rounded(seconds / length, unit)} {unit}"
    return f"{seconds / 86_400:.0f} days"


def brief(seconds: float) -> str:
    """A duration in a table, as options take it: `95s`, `12m`, `3.5h`, `8d`."""
    for _, unit, length, until in _UNITS:
        if seconds < until:
            return f"{_rounded(seconds / length, unit)}{unit}"
    return f"{seconds / 86_400:.0f}d"


def from_now(moment: datetime, now: datetime) -> str:
    """When that is, in a table: `3m ago`, `in 7m`."""
    seconds = (moment - now).total_seconds()
    return f"in {brief(seconds)}" if seconds > 0 else f"{brief(-seconds)} ago"


def counted(count: int, what: str, *, most: int | None = None) -> str:
    """`1 job`, `3 jobs`; `1000 or more jobs` where no more than `most` were counted."""
    if most is not None and count >= most:
        return f"{count} or more {what}s"
    return f"{count} {what}{'s' * (count != 1)}"


def _rounded(value: float, unit: str) -> str:
    return f"{value:.1f}".removesuffix(".0") if unit == "h" else f"{value:.0f}"

"""When a failed attempt is tried again: data, so that it can live in `howdah.kinds` and SQL can decide alike."""

from __future__ import annotations

from dataclasses import dataclass

from howdah.model.errors import InvalidOption
from howdah.model.limits import MAX_DURATION

# 2 ** 62 seconds is far over every cap; a larger exponent would only overflow float8.
MAX_EXPONENT = 62


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how soon a failed or crashed attempt is tried again.

    The delay before attempt n + 1 is `min(cap, base * factor ** (n - 1))` seconds, times 1 ± jitter, where n counts
    the attempts that are not excused. `max_attempts` is the cap of those attempts, crashes included.

    Raises InvalidOption for a value out of its range.
    """

    max_attempts: int = 10
    base: float = 5.0
    factor: float = 2.0
    cap: float = 3600.0
    jitter: float = 0.2

    def __post_init__(self) -> None:
        if isinstance(self.max_attempts, bool) or not isinstance(self.max_attempts, int):
            raise InvalidOption("max_attempts", self.max_attempts, "must be a whole number")
        _within("max_attempts", self.max_attempts, 1, 32_767)
        _within("base", self.base, 0, MAX_DURATION)
        _within("factor", self.factor, 1, 1000)
        _within("cap", self.cap, 0, MAX_DURATION)
        _within("jitter", self.jitter, 0, 1)


def backoff(retry: Retry, attempt: int, excused: int) -> float:
    """The delay in seconds before the next attempt, without jitter.

    `attempt` is the number of the attempt that failed, `excused` how many attempts so far do not count.
    """
    exponent = min(max(attempt - excused - 1, 0), MAX_EXPONENT)
    return min(retry.cap, retry.base * retry.factor**exponent)


def used_up(attempt: int, excused: int, max_attempts: int) -> bool:
    """Whether the cap of attempts is reached, so that the next failure is the last."""
    return attempt - excused >= max_attempts


def _within(name: str, value: float, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidOption(name, value, "must be a number")
    if not low <= value <= high:  # as NaN is not, either
        raise InvalidOption(name, value, f"must be from {low} to {high}")

"""The bounds of everything a caller may say, checked at the door; the schema's CHECKs say the same."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TypeAlias

from howdah.model.errors import InvalidOption

Seconds: TypeAlias = float | timedelta

MAX_NAME = 200  # bytes of UTF-8, for kinds, queues, keys, subjects, workers, tags and header names
MAX_JSON = 1024 * 1024  # bytes of JSON, for args and results
MAX_LEASE = 24 * 3600.0
MAX_DURATION = 10 * 366 * 24 * 3600.0  # ten years: whoever waits longer wants a calendar, not a queue
MAX_ATTEMPTS = 32_767
MAX_TAGS = 100
MAX_HEADERS = 16 * 1024  # bytes of JSON
MAX_BATCH = 10_000
MAX_NOTE = 10_000  # bytes of what an operator says


def check_name(option: str, value: object, *, limit: int = MAX_NAME) -> str:
    """A name that PostgreSQL can hold: 1 to `limit` bytes of UTF-8, without NUL or lone surrogates.

    Raises InvalidOption.
    """
    if not isinstance(value, str):
        raise InvalidOption(option, value, "must be text")
    if not value:
        raise InvalidOption(option, value, "must not be empty")
    if "\0" in value:
        raise InvalidOption(option, value, "must not hold a NUL character, which PostgreSQL cannot store")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidOption(option, value, "must not hold a lone surrogate, which UTF-8 cannot say") from None
    if size > limit:
        raise InvalidOption(option, value, f"must be at most {limit} bytes of UTF-8, this has {size}")
    return value


def check_seconds(option: str, value: object, *, low: float = 0.0, high: float = MAX_DURATION) -> float:
    """A duration as seconds, from a number or a timedelta. Raises InvalidOption outside `low` to `high`."""
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:
            raise InvalidOption(option, value, f"must be at most {high:g} seconds") from None
    else:
        raise InvalidOption(option, value, "must be seconds, as a number or a timedelta")
    if not math.isfinite(seconds):
        raise InvalidOption(option, value, "must be a finite number of seconds")
    if seconds < low:
        raise InvalidOption(option, value, f"must be at least {low:g} seconds")
    if seconds > high:
        raise InvalidOption(option, value, f"must be at most {high:g} seconds")
    return seconds


def check_lease(value: object, option: str = "lease") -> float:
    """A lease's length in seconds: over 0 and at most 24 hours. Raises InvalidOption."""
    seconds = check_seconds(option, value, high=MAX_LEASE)
    if seconds <= 0:
        raise InvalidOption(option, value, "must be more than 0 seconds")
    return seconds


def check_whole(option: str, value: object, low: int, high: int) -> int:
    """A whole number from `low` to `high`. Raises InvalidOption."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidOption(option, value, "must be a whole number")
    if not low <= value <= high:
        raise InvalidOption(option, value, f"must be from {low} to {high}")
    return value

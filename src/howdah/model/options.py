"""What a caller may say of a job beside its args, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

from howdah.model.errors import InvalidOption
from howdah.model.job import NewJob
from howdah.model.json_text import Unstorable, encode
from howdah.model.limits import (
    MAX_ATTEMPTS,
    MAX_HEADERS,
    MAX_TAGS,
    Seconds,
    check_name,
    check_seconds,
    check_whole,
)
from howdah.model.nearest import nearest

# Python's datetimes can say these days in every time zone, and no others.
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


class Options(TypedDict, total=False):
    """The options of an enqueue. Durations are seconds or timedeltas; `run_at` has a time zone."""

    queue: str
    priority: int
    delay: Seconds
    run_at: datetime
    expires_in: Seconds
    max_attempts: int
    key: str
    key_for: Seconds
    subject: str
    lane: str
    headers: Mapping[str, str]
    tags: Sequence[str]


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as `NewJob` takes them: seconds as floats, headers as JSON text.

    Raises InvalidOption, naming the option and what it may be.
    """
    for name in options:
        if name not in Options.__annotations__:
            raise InvalidOption(name, options[name], f"is not an option{nearest(name, Options.__annotations__)}")
    checks = {name: _CHECKS[name](value) for name, value in options.items() if value is not None}
    if "delay" in checks and "run_at" in checks:
        raise InvalidOption("run_at", options["run_at"], "say either delay or run_at, not both")
    if "key_for" in checks and "key" not in checks:
        raise InvalidOption("key_for", options["key_for"], "needs a key")
    return checks


def new_job(kind: str, args: str, fallback_queue: str, options: Mapping[str, Any]) -> NewJob:
    """A NewJob of checked parts. Raises InvalidOption."""
    return NewJob(check_name("kind", kind), args, fallback_queue=fallback_queue, **checked(options))


def _run_at(value: Any) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidOption("run_at", value, "must be a datetime")
    if value.utcoffset() is None:
        raise InvalidOption("run_at", value, "needs a time zone: datetime.now(timezone.utc), for example")
    try:
        inside = EARLIEST <= value.astimezone(UTC) < LATEST
    except (OverflowError, ValueError):
        inside = False
    if not inside:
        raise InvalidOption("run_at", value, "must lie in the years 1 to 9999, whatever the time zone")
    return value


def _lane(value: Any) -> str:
    raise InvalidOption("lane", value, "lanes come with a later release")


def _headers(value: Any) -> str:
    if not isinstance(value, Mapping):
        raise InvalidOption("headers", value, "must be a mapping of text to text")
    for name, text in value.items():
        check_name("headers", name)
        if not isinstance(text, str):
            raise InvalidOption("headers", value, f"{name!r} must be text")
    try:
        return encode(dict(value), limit=MAX_HEADERS)
    except Unstorable as problem:
        raise InvalidOption("headers", value, str(problem)) from None


def _tags(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidOption("tags", value, "must be a list of names")
    if len(value) > MAX_TAGS:
        raise InvalidOption("tags", value, f"at most {MAX_TAGS}, these are {len(value)}")
    return tuple(check_name("tags", tag) for tag in value)


_CHECKS: dict[str, Any] = {
    "queue": lambda value: check_name("queue", value),
    "priority": lambda value: check_whole("priority", value, -32_768, 32_767),
    "delay": lambda value: check_seconds("delay", value),
    "run_at": _run_at,
    "expires_in": lambda value: check_seconds("expires_in", value),
    "max_attempts": lambda value: check_whole("max_attempts", value, 1, MAX_ATTEMPTS),
    "key": lambda value: check_name("key", value),
    "key_for": lambda value: check_seconds("key_for", value),
    "subject": lambda value: check_name("subject", value),
    "lane": _lane,
    "headers": _headers,
    "tags": _tags,
}

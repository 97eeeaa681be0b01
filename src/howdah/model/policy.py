"""Changes of a kind's policy that an operator asks for, held against the bounds that `@job` has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from howdah.model.errors import InvalidOption
from howdah.model.job import OnCrash, OnSupersede, Policy
from howdah.model.limits import check_lease, check_name
from howdah.model.nearest import nearest
from howdah.model.retry import Retry

COLUMNS = tuple(field.name for field in fields(Policy) if field.name != "kind")
_RETRY = {
    "max_attempts": "max_attempts",
    "retry_base": "base",
    "retry_factor": "factor",
    "retry_cap": "cap",
    "retry_jitter": "jitter",
}


def checked_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, by the names of the columns of `howdah.kinds`. `on_discard` and `on_unknown` may be None.

    Raises InvalidOption, naming the column and what it may be.
    """
    return {column: _checked(column, value) for column, value in changes.items()}


def _checked(column: str, value: Any) -> Any:
    match column:
        case "queue":
            return check_name(column, value)
        case "lease":
            return check_lease(value)
        case "on_crash":
            return _one_of(column, value, get_args(OnCrash))
        case "on_supersede":
            return _one_of(column, value, get_args(OnSupersede))
        case "on_discard" | "on_unknown":
            return None if value is None else check_name(column, value)
    if column not in _RETRY:
        raise InvalidOption(column, value, f"is not part of a policy{nearest(column, COLUMNS)}")
    try:
        Retry(**{_RETRY[column]: value})
    except InvalidOption as error:
        raise InvalidOption(column, value, error.problem) from None
    return value


def _one_of(column: str, value: object, allowed: tuple[str, ...]) -> object:
    if value not in allowed:
        raise InvalidOption(column, value, f"must be one of {', '.join(allowed)}")
    return value

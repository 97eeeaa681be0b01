"""Errors as text that can always be stored: recording a failure never fails because of the failure's text."""

from __future__ import annotations

import traceback as tracebacks

MAX_MESSAGE = 2 * 1024  # bytes, cut from the front: the beginning says what happened
MAX_TRACEBACK = 14 * 1024  # bytes, cut from the end: the end says where
MAX_TYPE = 200


def describe(error: BaseException | str) -> tuple[str, str, str | None]:
    """The type, message and traceback of an error, cleaned and cut; a text is its own message, without traceback."""
    if isinstance(error, str):
        return "Error", head(clean(error), MAX_MESSAGE), None
    kind = head(clean(type(error).__qualname__), MAX_TYPE)
    try:
        message = str.__str__(str(error))  # a subclass of str may do anything
    except BaseException as broken:  # also one that exits: recording a failure must not end the worker
        message = f"(its text could not be made: {type(broken).__name__})"
    return kind, head(clean(message), MAX_MESSAGE), _traceback(error)


def clean(text: str) -> str:
    """The text without what PostgreSQL cannot hold: NUL and lone surrogates become U+FFFD."""
    return "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)


def head(text: str, limit: int) -> str:
    """The first `limit` bytes of UTF-8, cut at a character."""
    return text.encode()[:limit].decode(errors="ignore")


def tail(text: str, limit: int) -> str:
    """The last `limit` bytes of UTF-8, cut at a character."""
    return text.encode()[-limit:].decode(errors="ignore")


def _traceback(error: BaseException) -> str | None:
    try:
        where = error.__traceback__
        if where is None:
            return None
        text = "".join(tracebacks.format_tb(where))
    except BaseException:
        return None
    return tail(clean(text), MAX_TRACEBACK)

"""JSON text that PostgreSQL holds exactly as it was said, or a refusal before anything is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from howdah.model.limits import MAX_JSON

MAX_DEPTH = 200


class Unstorable(ValueError):
    """A value that JSON or `jsonb` cannot hold; `path` says where in the value, such as `$.items[3]`."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        super().__init__(problem if path == "$" else f"{path}: {problem}")


def encode(value: Any, *, enc_hook: Callable[[Any], Any] | None = None, limit: int = MAX_JSON) -> str:
    """The JSON text of `value`. Raises Unstorable where it cannot be stored or would not come back the same.

    `enc_hook` turns objects that msgspec does not know into ones that it does; `limit` is in bytes.
    """
    try:
        data = msgspec.json.encode(value, enc_hook=enc_hook)
        text = data.decode()
    except (RecursionError, TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise Unstorable("$", _cause(error)) from error
    if len(data) > limit:
        raise Unstorable("$", f"{len(data)} bytes of JSON are over the limit of {limit}; store a reference instead")
    # msgspec writes NaN and the infinities as null, and NUL as an escape that jsonb refuses: only text that holds
    # one of those, or that nests deeply, has to be looked through.
    if "null" in text or "\\u0000" in text or text.count("[") + text.count("{") > MAX_DEPTH or "-0.0" in text:
        _inspect(msgspec.to_builtins(value, enc_hook=enc_hook, str_keys=True), "$", 0)
    return text


def decode(text: str) -> Any:
    """The value of a JSON text. Raises Unstorable where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unstorable("$", _cause(error)) from error


def _inspect(value: Any, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Unstorable("$", f"nests deeper than {MAX_DEPTH} levels")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unstorable(path, f"{value} is not a JSON number")
        if value == 0 and math.copysign(1, value) < 0:
            raise Unstorable(path, "-0.0 would come back as 0.0")
    elif isinstance(value, str):
        _inspect_text(value, path)
    elif isinstance(value, dict):
        for name, inner in value.items():
            _inspect_text(str(name), path)
            _inspect(inner, f"{path}.{name}", depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for place, inner in enumerate(value):
            _inspect(inner, f"{path}[{place}]", depth + 1)


def _inspect_text(text: str, path: str) -> None:
    if "\0" in text:
        raise Unstorable(path, "holds a NUL character, which PostgreSQL cannot store")


def _cause(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return f"nests deeper than {MAX_DEPTH} levels"
    if isinstance(error, UnicodeEncodeError):
        return "holds a lone surrogate, which UTF-8 cannot say"
    return str(error)

"""What runs the jobs of one kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Handler:
    """The function of one kind, and how to call it.

    `decode(args, follow_up)` gives the keyword arguments or raises InvalidArgs; for a follow-up job it drops the args
    that the function does not name. `takes_context`: the first positional argument is the Context.
    """

    name: str
    function: Callable[..., Any]
    is_async: bool
    takes_context: bool
    decode: Callable[[Mapping[str, Any], bool], dict[str, Any]]
    timeout: float | None = None
    stall_timeout: float | None = None

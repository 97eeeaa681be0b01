"""Tracebacks as they are kept, without what a reader cannot do anything about."""

from __future__ import annotations

import re

_FRAME = re.compile(r'^(?=  File ")', re.MULTILINE)
_OURS = re.compile(r'  File "[^"\n]*[/\\]howdah[/\\]worker[/\\]')


def without_ours(traceback: str) -> str:
    """The frames of handlers and what they call: the worker's own come first in every one."""
    return "".join(frame for frame in _FRAME.split(traceback) if not _OURS.match(frame)).rstrip()

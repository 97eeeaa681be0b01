"""One readable statement per .sql file: `load("jobs/claim")` gives the text as PostgreSQL gets it."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_COMMENT = re.compile(r"\s*--[^\n]*")
_QUOTED = re.compile(r"'[^']*'")


@cache
def load(name: str) -> str:
    """The statement of `sql/<name>.sql`, without its comments.

    Raises ValueError where a parameter stands inside quotes: the driver would send it as text, not as a value.
    """
    text = _COMMENT.sub("", resources.files(__name__).joinpath(f"{name}.sql").read_text()).strip()
    for quoted in _QUOTED.findall(text):
        if "%(" in quoted:
            raise ValueError(
                f"{name}.sql: the parameter in {quoted} stands inside quotes; write it outside, with a cast"
            )
    return text


@cache
def names() -> tuple[str, ...]:
    """Every statement there is."""
    folders = (entry for entry in resources.files(__name__).iterdir() if entry.is_dir())
    found = (f"{folder.name}/{file.name}" for folder in folders for file in folder.iterdir())
    return tuple(sorted(name.removesuffix(".sql") for name in found if name.endswith(".sql")))

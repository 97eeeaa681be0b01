"""`-m MODULE`, or MODULE:NAME of a `Worker` built there."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from howdah.model.errors import InvalidOption


def load(name: str) -> Any:
    """The module, or the worker. Raises UsageError where there is none."""
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not module_name.startswith(error.name):
            raise
        near = _nearest_module(module_name)
        raise click.UsageError(f"-m {module_name}: no such module here or on PYTHONPATH{near}") from None
    except (InvalidOption, TypeError) as error:
        if (place := _place_of_a_decoration(error)) is None:
            raise
        raise click.UsageError(f"-m {module_name}: {place}: {error}") from None
    if not attribute:
        return module
    from howdah import Worker

    found = getattr(module, attribute, None)
    if not isinstance(found, Worker):
        raise click.UsageError(f"-m {name}: {attribute} is not a Worker of {module_name}")
    return found


def _nearest_module(name: str) -> str:
    """The module that may be meant by a file's name, or by a mistyped one."""
    from importlib.util import find_spec
    from pkgutil import iter_modules

    from howdah.model.nearest import nearest

    meant = name.removesuffix(".py").replace("\\", "/").strip("./").replace("/", ".")
    package, _, _ = meant.rpartition(".")
    try:
        found = find_spec(package) if package else None
    except (ImportError, ValueError):
        return ""
    places = [str(Path.cwd())] if not package else (found and found.submodule_search_locations) or []
    return nearest(meant, [f"{package}.{each.name}".strip(".") for each in iter_modules(places)])


def _place_of_a_decoration(error: Exception) -> str | None:
    """The file and line whose `@job(…)` was refused; None for what went wrong elsewhere."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parents[1])
    if not frames or not frames[-1].filename.startswith(ours):
        return None
    theirs = [frame for frame in frames if not frame.filename.startswith((ours, "<frozen"))]
    return f"{theirs[-1].filename}:{theirs[-1].lineno}" if theirs else None

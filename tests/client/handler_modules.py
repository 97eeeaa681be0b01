"""Modules made of text, as a user would have them in files."""

import sys
from textwrap import dedent
from types import ModuleType


class Context:
    """Stands for the worker's Context, which handlers are known to take by its mark."""

    __howdah_context__ = True


def module(name: str, source: str = "", **names: object) -> ModuleType:
    """A module of this name and source, in which these names are already imported."""
    made = ModuleType(name)
    made.__dict__.update(names)
    exec(compile(dedent(source), f"/srv/{name.replace('.', '/')}.py", "exec"), made.__dict__)
    parent, _, child = name.rpartition(".")
    if parent and parent in sys.modules:
        setattr(sys.modules[parent], child, made)
    return made

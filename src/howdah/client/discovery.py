"""Which kinds a worker is given: those that its modules define."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from types import ModuleType

from howdah.client.kind import AnyKind, Kind


def handlers_of(modules_and_kinds: Iterable[ModuleType | AnyKind]) -> dict[str, AnyKind]:
    """The kinds by name: those given, and those that are defined in the modules given or below their packages.

    Raises TypeError for anything else, and ValueError where two handlers have one kind's name.
    """
    if isinstance(modules_and_kinds, ModuleType | Kind | str):
        raise TypeError(f"a list of modules and kinds is needed, not {modules_and_kinds!r} alone")
    found: dict[str, AnyKind] = {}
    for item in modules_and_kinds:
        for kind in _kinds_of(item):
            known = found.setdefault(kind.name, kind)
            # A copy with options of its own is the same kind: what counts is what runs, and under which policy.
            if known.function is not kind.function or known.policy != kind.policy:
                raise ValueError(f"two handlers for kind {kind.name!r}: {_place(known)} and {_place(kind)}")
    return found


def _kinds_of(item: object) -> Iterator[AnyKind]:
    if isinstance(item, Kind):
        yield item
    elif isinstance(item, ModuleType):
        yield from _defined_in(item, item.__name__, set())
    else:
        hint = ", which has no @job" if inspect.isroutine(item) else ""
        raise TypeError(f"a module or a kind is needed, not {item!r}{hint}")


def _defined_in(module: ModuleType, package: str, seen: set[str]) -> Iterator[AnyKind]:
    seen.add(module.__name__)
    # A copy: another thread may import a submodule meanwhile, which adds to it.
    for value in list(vars(module).values()):
        if isinstance(value, Kind) and _is_below(value.__module__, package):
            yield value
        elif isinstance(value, ModuleType) and value.__name__ not in seen and _is_below(value.__name__, package):
            yield from _defined_in(value, package, seen)


def _is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _place(kind: AnyKind) -> str:
    function = inspect.unwrap(kind.function)
    code = getattr(function, "__code__", None)
    where = f"{code.co_filename}:{code.co_firstlineno}" if code else "unknown file"
    return f"{function.__module__}.{function.__qualname__} ({where})"

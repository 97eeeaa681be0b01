"""When a Python file changes: where to look, and a thread that looks."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

log = logging.getLogger("howdah.dev")

SETTLED_AFTER = 300  # milliseconds: editors write a file in several steps, and a checkout many files


def folders_of(modules: Iterable[str], here: Path) -> list[Path]:
    """The folder we stand in, and those of the modules' outermost packages elsewhere. Imports nothing of them."""
    folders = [here]
    for name in modules:
        for folder in _places(name.partition(":")[0].partition(".")[0], here):
            if folder.is_dir() and not any(folder.is_relative_to(known) for known in folders):
                folders.append(folder)
    return folders


@contextmanager
def watching(folders: Sequence[Path], changed: Callable[[], None]) -> Iterator[None]:
    """Call `changed`, in a thread, after Python files in the folders have changed. Needs `watchfiles`."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(folders, changed, over), name="howdah-reload", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=1.0)


def _places(package: str, here: Path) -> list[Path]:
    if (here / package).is_dir() or (here / f"{package}.py").exists():
        return []  # found first, and watched already
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(place).resolve() for place in spec.submodule_search_locations]
    folder = Path(spec.origin).resolve().parent if spec.has_location and spec.origin else None
    return [folder] if folder and folder.name != "site-packages" else []


def _is_theirs(folder: Path, folders: Sequence[Path]) -> bool:
    """Whether it is below one that holds no code of ours: hidden, a virtual environment, or node_modules."""
    below = next((folder.relative_to(top).parts for top in folders if folder.is_relative_to(top)), ())
    inner = [Path(*folder.parts[: len(folder.parts) - n]) for n in range(len(below))]
    return any(
        each.name.startswith(".") or each.name == "node_modules" or (each / "pyvenv.cfg").exists() for each in inner
    )


def _watch(folders: Sequence[Path], changed: Callable[[], None], over: threading.Event) -> None:
    from watchfiles import PythonFilter, watch

    is_python, is_theirs = PythonFilter(), cache(partial(_is_theirs, folders=tuple(folders)))
    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    try:
        for changes in watch(
            *folders,
            watch_filter=lambda change, path: is_python(change, path) and not is_theirs(Path(path).parent),
            debounce=SETTLED_AFTER,
            stop_event=over,
            ignore_permission_denied=True,
        ):
            names = sorted({Path(path).name for _, path in changes})
            log.info("%s changed", ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else ""))
            changed()
    except Exception:
        if not over.is_set():
            log.exception("changes are no longer seen; press Ctrl-C and start anew")

"""Which job ran how often, and when: one file per process, so that nobody waits for anybody and none can cheat."""

from __future__ import annotations

import mmap
import time
from collections import Counter
from pathlib import Path

MOMENT = 8  # bytes of a double


class Ledger:
    """The side of a process that runs jobs. Jobs are numbered from 0.

    With `moments` it also keeps when each began, by the clock that all processes of a machine share.
    """

    def __init__(self, path: Path, jobs: int, *, moments: bool = False) -> None:
        self._runs = _mapped(path, jobs)
        self._moments = _mapped(path.with_suffix(".moments"), jobs * MOMENT).cast("d") if moments else None

    def mark(self, n: int) -> None:
        """Job `n` begins."""
        if self._moments is not None:
            self._moments[n] = time.monotonic()
        self._runs[n] += 1


class Ledgers:
    """The side of the benchmark: the ledgers of several processes together."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._folder = folder
        self.jobs = jobs

    def path(self, process: int) -> Path:
        """Where a process keeps its ledger."""
        return self._folder / f"ledger-{process}"

    def ran(self) -> int:
        """How many jobs have begun, counting a job twice that began in two processes."""
        return sum(len(runs) - runs.count(0) for runs in self._read())

    def wrong(self) -> tuple[str, ...]:
        """What is to be said of the jobs that did not run once."""
        times = Counter(map(sum, zip(*self._read(), strict=True))) or Counter({0: self.jobs})
        never = times.pop(0, 0)
        times.pop(1, None)
        texts = {"never ran": never, "ran more than once": times.total()}
        return tuple(f"{count} jobs {text}" for text, count in texts.items() if count)

    def moments(self) -> dict[int, float]:
        """When each job began."""
        found: dict[int, float] = {}
        for path in self._folder.glob("ledger-*.moments"):
            moments = memoryview(path.read_bytes()).cast("d")
            found.update({n: at for n, at in enumerate(moments) if at})
        return found

    def _read(self) -> list[bytes]:
        return [path.read_bytes() for path in self._folder.glob("ledger-*") if not path.suffix]


def _mapped(path: Path, size: int) -> memoryview:
    with path.open("wb") as file:
        file.truncate(size)
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), size))

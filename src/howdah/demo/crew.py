"""The demo's worker processes: started, restarted when they die, one of them killed on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Self

STOP_WITHIN = 8.0


class Crew:
    """So many worker processes, kept alive by `tend`. Attributes: `restarts`, and the pids that were `killed`."""

    def __init__(self, size: int, environment: Mapping[str, str], log: int) -> None:
        self._environment = {**os.environ, **environment}
        self._log = log
        self._workers = [self._start() for _ in range(size)]
        self.restarts = 0
        self.killed: list[int] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            try:
                worker.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
            if worker.stdin:
                worker.stdin.close()

    @property
    def size(self) -> int:
        """How many worker processes there are."""
        return len(self._workers)

    def tend(self) -> None:
        """Start a new process for each that has died."""
        for place, worker in enumerate(self._workers):
            if worker.poll() is not None:
                if worker.stdin:
                    worker.stdin.close()
                self._workers[place] = self._start()
                self.restarts += 1

    def kill(self, pid: int) -> bool:
        """SIGKILL one of our own workers; False where this pid is none of them any more."""
        for worker in self._workers:
            if worker.pid == pid and worker.poll() is None:
                worker.kill()
                self.killed.append(pid)
                return True
        return False

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "howdah.demo.child"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
        )

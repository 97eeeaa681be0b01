"""A process of a benchmark: `python -m howdah.bench.child ROLE SPEC`. It ends with the process that started it.

It says `ready`, waits for a line, works, says its answer as JSON, if it has one, and then stays until it is stopped.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import msgspec

from howdah.bench import roles


class Gate:
    """Where a process waits until all are ready."""

    def __init__(self) -> None:
        self._open = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def wait(self) -> None:
        """Say that this process is ready, and wait for the start."""
        print("ready", flush=True)  # noqa: T201  to the parent
        self._open.wait()

    def _listen(self) -> None:
        sys.stdin.readline()
        self._open.set()
        sys.stdin.read()
        os._exit(0)


def main(role: str, spec: str) -> None:
    """Work, answer, and wait for the end."""
    answer: Any = roles.ROLES[role](msgspec.json.decode(spec), Gate().wait)
    if answer is None:
        return
    print(msgspec.json.encode(answer).decode(), flush=True)  # noqa: T201  to the parent
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])

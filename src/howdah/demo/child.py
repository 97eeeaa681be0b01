"""A worker process of the demo: `python -m howdah.demo.child`. It ends with the process that started it."""

from __future__ import annotations

import os
import sys
import threading

from howdah import Worker
from howdah.demo import jobs

QUEUES = {"files": 4, "parcels": 2, "poison": 1, "default": 2}


def main() -> None:
    """Work until stdin ends, which it does when the parent is gone, however it went."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    Worker(kinds=[jobs], queues=QUEUES, grace=5).run()


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()

"""Run a server as long as its owner lives: a program of its own, which `server.py` starts by its path.

Standard input is a pipe from the owner: a byte asks for a stop; its end means that the owner is gone, by whatever
death. A process can survive its owner's SIGKILL, a `finally` cannot. Only the standard library is imported, so that
it starts at once and works without the packages of the owner.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1
_STDIN = 0


def main(order: dict[str, Any]) -> int:
    """Run `order["command"]` till it ends or the owner leaves; then also remove `order["folder"]`."""
    owner = os.getppid()
    server = subprocess.Popen(  # noqa: S603
        order["command"],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        cwd="/",
        env=order["environment"],
        preexec_fn=_end_with_parent(),
        **order["identity"],
    )
    print(server.pid, flush=True)  # noqa: T201
    orphaned = threading.Event()
    threading.Thread(target=_stop_when_told, args=(server, owner, orphaned), daemon=True).start()
    status = server.wait()
    if orphaned.is_set():
        shutil.rmtree(order["folder"], ignore_errors=True)
    return status


def _stop_when_told(server: subprocess.Popen[bytes], owner: int, orphaned: threading.Event) -> None:
    # The pipe alone is not enough: a child that the owner forked keeps it open after the owner's death.
    while os.getppid() == owner and not select.select([_STDIN], [], [], 1.0)[0]:
        pass
    if os.getppid() != owner or not os.read(_STDIN, 1):
        orphaned.set()
    server.send_signal(signal.SIGINT)


def _end_with_parent() -> Callable[[], object] | None:
    """Return what makes Linux stop the server when this process is killed. It runs after the change of account."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

"""What joins a supervisor and its process: a pair of sockets whose end says that the other side is gone.

The supervisor only listens. Its end closes with it, by whatever death, and the process then stops as if it were told
to: nothing runs unsupervised. A SIGTERM to oneself is right at any time, before the worker has its handlers too.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from dataclasses import dataclass

OPTION = "--lifeline"
_LOADED = "loaded"
_REFUSED = "refused"

log = logging.getLogger("howdah.supervisor")


class Lifeline:
    """The process's end. `descriptor` is what OPTION says."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._socket = socket.socket(fileno=descriptor)
        threading.Thread(target=self._hold_on, name="howdah-lifeline", daemon=True).start()

    def loaded(self, grace: float) -> None:
        """Say that it has all it needs to run, and how many seconds its stop may take."""
        self._say(f"{_LOADED} {grace}")

    def refused(self) -> None:
        """Say that it cannot run, for a reason that a restart does not cure."""
        self._say(_REFUSED)

    def _say(self, word: str) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more: see _hold_on
            self._socket.sendall(f"{word}\n".encode())

    def _hold_on(self) -> None:
        with contextlib.suppress(OSError):
            while self._socket.recv(64):
                pass
        log.warning("the supervisor is gone: process %d stops", os.getpid())
        os.kill(os.getpid(), signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a process has said so far."""

    text: str = ""

    def __add__(self, more: bytes) -> Heard:
        return Heard(self.text + more.decode(errors="replace"))

    @property
    def loaded(self) -> bool:
        """Whether it has all it needs to run."""
        return self.grace is not None

    @property
    def refused(self) -> bool:
        """Whether it cannot run."""
        return _REFUSED in self.text.splitlines()

    @property
    def grace(self) -> float | None:
        """The seconds its stop may take, once it has said them."""
        for line in self.text.splitlines(keepends=True):
            word, _, value = line.partition(" ")
            if word == _LOADED and value.endswith("\n"):
                return float(value)
        return None

"""One process at the end of a lifeline."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from howdah.supervise.lifeline import OPTION, Heard
from howdah.supervise.policy import End

# A worker ends within grace + 1.7 s; then it is hung.
BEYOND_GRACE = 1.9
ABANDONED_WITHIN = 2.0


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. `grace`: seconds that its stop may take unless it says otherwise.

    `in_foreground`: it shares the terminal, so that a debugger works in it; otherwise it has a process group of its own
    and Ctrl-C reaches the supervisor alone.
    """

    command: Sequence[str]
    grace: float
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    in_foreground: bool = False


class Child:
    """A process that has been started. Its `port` is where it says how it is, None if nobody asked for that.

    Raises OSError where the system has no room for another process.
    """

    def __init__(self, program: Program, port: int | None = None) -> None:
        self.port = port
        self.heard = Heard()
        self.asked = False
        self.killed = False
        self.kill_at = float("inf")
        self._grace = program.grace
        self._began = time.monotonic()
        self._ours: socket.socket | None
        self._ours, theirs = socket.socketpair()
        self._ours.setblocking(False)
        health = [] if port is None else [f"--health-port={port}", "--health-host=127.0.0.1"]
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [*program.command, *health, f"{OPTION}={theirs.fileno()}"],
                    env=program.environment,
                    stdin=None if program.in_foreground else subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    process_group=None if program.in_foreground else 0,
                )
            except OSError:
                self._ours.close()
                raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def lifeline(self) -> socket.socket | None:
        """What becomes readable when it says something; None when it has let go."""
        return self._ours

    def listen(self) -> None:
        """Take in what it has said."""
        with contextlib.suppress(BlockingIOError):
            while self._ours is not None:
                try:
                    said = self._ours.recv(256)
                except ConnectionError:
                    said = b""
                if not said:
                    self._let_go()
                self.heard += said

    def ended(self) -> End | None:
        """How it ended; None while it runs."""
        status = self._process.poll()
        if status is None:
            return None
        self.listen()
        self._let_go()
        return End(status, time.monotonic() - self._began, self.heard.refused)

    def stop(self) -> None:
        """Ask for a graceful stop."""
        if not self.asked:
            self.asked = True
            grace = self._grace if self.heard.grace is None else self.heard.grace
            self.kill_at = time.monotonic() + grace + BEYOND_GRACE
            self._process.send_signal(signal.SIGTERM)

    def abandon(self) -> None:
        """Ask a second time: what runs is not waited for."""
        self.asked = True
        self.kill_at = min(self.kill_at, time.monotonic() + ABANDONED_WITHIN)
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.killed = True
        self.kill_at = float("inf")
        self._process.kill()

    def _let_go(self) -> None:
        if self._ours is not None:
            self._ours.close()
            self._ours = None

"""The processes of a run: started together, sent off together, and gone when it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from howdah.bench.sampling import Stuck

STOP_WITHIN = 15.0
SHOWN = 2_000  # characters of a log


class Crew:
    """One process for each spec, all of one role. Their pids are those who do the work."""

    def __init__(self, role: str, dsn: str, specs: Sequence[Mapping[str, Any]]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the crew
        environment = {**os.environ, "HOWDAH_DSN": dsn}
        environment.pop("HOWDAH_LISTEN_DSN", None)  # it leads to another database
        self._processes = [
            subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "howdah.bench.child", role, msgspec.json.encode(spec).decode()],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                text=True,
            )
            for spec in specs
        ]
        self.pids = [process.pid for process in self._processes]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def ready(self) -> Self:
        """Wait until all have said so."""
        for process in self._processes:
            self._line(process)
        return self

    def go(self) -> Self:
        """Send them off."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return self

    def answers(self) -> list[Any]:
        """Wait for what each has to say at its end."""
        return [msgspec.json.decode(self._line(process)) for process in self._processes]

    def complaint(self) -> str:
        """How the processes are, and the end of what they wrote."""
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")[-SHOWN:]
        return f"processes {[process.poll() for process in self._processes]}; they said: {text or 'nothing'}"

    def stop(self) -> None:
        """A graceful stop; whoever does not end in time is killed."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        self._log.close()

    def _line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait(STOP_WITHIN)
            raise Stuck(f"a process of the benchmark ended: {self.complaint()}")
        return line

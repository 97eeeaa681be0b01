"""Two releases of the package side by side: this one, and a next one that is made of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.migrations.doors import ROOT

STEP = Path(__file__).parent / "next" / "0002.sql"


@dataclass
class Release:
    """A release by the folder that its package is in, and the workers that were started of it."""

    path: Path
    dsn: str
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, count: int) -> list[int]:
        """Start workers; gives their process ids."""
        started = [
            self._process("worker", "-m", "tests.migrations.rolling_jobs", "-q", "default:4") for _ in range(count)
        ]
        self.workers += started
        return [worker.pid for worker in started]

    def run(self, *args: str) -> str:
        """A command to its end."""
        process = self._process(*args)
        assert process.wait(120) == 0, self._log(process).read_text()
        return self._log(process).read_text()

    def stop(self) -> list[int]:
        """Stop the workers gracefully; gives their exit statuses."""
        for worker in self.workers:
            worker.send_signal(signal.SIGTERM)
        return [worker.wait(30) for worker in self.workers]

    def logged(self) -> str:
        """What all of its workers have said."""
        return "".join(self._log(worker).read_text() for worker in self.workers)

    def kill(self) -> None:
        """What a test that failed has left."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()

    def _process(self, *args: str) -> subprocess.Popen[bytes]:
        environ = {**os.environ, "HOWDAH_DSN": self.dsn, "PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
        new = self.folder / "new"
        with new.open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "howdah", *args], cwd=ROOT, env=environ, stdout=log, stderr=subprocess.STDOUT
            )
        new.rename(self._log(process))
        return process

    def _log(self, process: subprocess.Popen[bytes]) -> Path:
        return self.folder / f"{process.pid}.log"


def next_release(folder: Path) -> Path:
    """A copy of the package that has one version more; gives the folder to import it from."""
    package = folder / "howdah"
    shutil.copytree(ROOT / "src" / "howdah", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(STEP, package / "migrations")
    steps = package / "migrations" / "steps.py"
    text = steps.read_text()
    assert text.count("SCHEMA_VERSION = 1\n") == 1
    steps.write_text(text.replace("SCHEMA_VERSION = 1\n", "SCHEMA_VERSION = 2\n"))
    return folder

"""Examples as their users run them: from the folder `examples`, with nothing but HOWDAH_DSN."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from sqlalchemy import Engine

from howdah.store.dsn import sqlalchemy_url

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("fastapi_shop", "flask_shop", "plain", "trigger")

Load = Callable[[str], ModuleType]
Run = Callable[..., str]


@pytest.fixture
def load(cloned_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Import a module of an example, which connects to this test's database; forgotten after the test."""
    monkeypatch.setenv("HOWDAH_DSN", sqlalchemy_url(cloned_dsn))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.split(".")[0] in NAMES]:
        engine = getattr(sys.modules.pop(name), "engine", None)
        if isinstance(engine, Engine):  # an async one is disposed of in its own loop, by the app
            engine.dispose()


@pytest.fixture
def run(cloned_dsn: str) -> Run:
    """Run a command in the folder of the examples to its end; what it printed."""

    def run_there(*command: str, dsn: str = sqlalchemy_url(cloned_dsn)) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=EXAMPLES,
            env={**os.environ, "HOWDAH_DSN": dsn, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run_there

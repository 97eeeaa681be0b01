"""The ways to migrate a database, called as a user calls them."""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from pathlib import Path

from alembic import command
from alembic.config import Config
from click.testing import CliRunner, Result

from howdah.cli import main

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def howdah(*args: str, dsn: str | None = None) -> Result:
    """`howdah …` in this process."""
    return CliRunner().invoke(main, args, env={"HOWDAH_DSN": dsn})


def run(program: str, *args: str, dsn: str = "") -> subprocess.CompletedProcess[str]:
    """`howdah …` or `alembic …` as a process of its own, in the checkout."""
    environ = {**os.environ, "HOWDAH_DSN": dsn}
    return subprocess.run([BIN / program, *args], cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def alembic(name: str, *args: str, dsn: str, **options: bool) -> str:
    """An Alembic command through our alembic.ini, in this process; gives what it printed."""
    printed = io.StringIO()
    config = Config(ROOT / "alembic.ini", stdout=printed, output_buffer=printed)
    config.cmd_opts = argparse.Namespace(x=[f"dsn={dsn}"])
    getattr(command, name)(config, *args, **options)
    return printed.getvalue()

"""What is installed must migrate without the checkout: the wheel carries the steps and the Alembic revisions."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.migrations.catalogue import catalogue
from tests.migrations.doors import ROOT

pytest.importorskip("pip")

BY_ALEMBIC = """
from alembic import command
from alembic.config import Config
from howdah import migrations
config = Config()
config.set_main_option("script_location", str(migrations.script_location()))
command.upgrade(config, "head")
command.check(config)
print(migrations.script_location())
"""
BY_RUNNER = """
from howdah import Client, migrations
with Client() as client:
    client.migrate()
    assert client.enqueue("a", {}).created
print(migrations.__file__)
"""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unpacked wheel, which comes before the checkout on PYTHONPATH."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    if built.returncode and "Could not find a version" in built.stderr:
        pytest.skip("no package index for the build backend")
    assert built.returncode == 0, built.stderr
    zipfile.ZipFile(next(folder.glob("howdah-*.whl"))).extractall(folder / "installed")
    return folder / "installed"


@pytest.mark.parametrize("program", [BY_RUNNER, BY_ALEMBIC], ids=["runner", "alembic"])
def test_an_installed_package_migrates(
    program: str, installed: Path, tmp_path: Path, fresh_dsn: str, cloned_dsn: str
) -> None:
    environ = {**os.environ, "HOWDAH_DSN": fresh_dsn, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.split()[-1]).is_relative_to(installed / "howdah" / "migrations")
    assert catalogue(fresh_dsn) == catalogue(cloned_dsn)

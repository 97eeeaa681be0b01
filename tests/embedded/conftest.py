from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.embedded import Binaries

_SYSTEM = sorted(Path("/usr/lib/postgresql").glob("[0-9]*/bin"))

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops its privileges")


@pytest.fixture(scope="session", params=["wheel", *_SYSTEM], ids=lambda param: Path(param).parent.name or "wheel")
def binaries(request: pytest.FixtureRequest) -> Binaries:
    """All binaries of this machine: of the newest PostgreSQL and of the oldest one that we support."""
    return Binaries.from_wheel() if request.param == "wheel" else Binaries.at(request.param)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an unprivileged server can reach, as pytest's own is not."""
    path = Path(tempfile.mkdtemp(prefix="howdah-test-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)

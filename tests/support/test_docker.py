"""The tests' PostgreSQL in a container, on an engine that only answers: a real one would be asked the same."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.fake_docker import PORT, fake_docker

TOP = Path(__file__).parents[2]
# In a process of its own: testcontainers reads its settings when it is imported.
PROGRAM = """
from tests.support.servers import choose
source = choose()
with source.run() as dsn:
    print(source.name, source.description, dsn, sep="\\n")
"""


def test_a_container_is_asked_for_waited_for_and_removed() -> None:
    pytest.importorskip("testcontainers")
    # Not tmp_path: the path of a socket must be short.
    with tempfile.TemporaryDirectory() as folder, fake_docker(Path(folder) / "s") as asked:
        environ = {
            **os.environ,
            "DOCKER_HOST": f"unix://{folder}/s",
            "HOWDAH_TEST_SERVER": "docker",
            "TESTCONTAINERS_RYUK_DISABLED": "true",  # a second container, which removes the first if we die
            "TESTCONTAINERS_CONNECTION_MODE": "docker_host",  # also where the tests themselves run in a container
            "PYTHONPATH": str(TOP),
        }
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 0, done.stderr + str(asked)
    name, description, dsn = done.stdout.splitlines()
    assert (name, description) == ("docker", "postgres:18 in Docker")
    assert dsn == f"postgresql://test:test@localhost:{PORT}/test"

    calls = [(method, path) for method, path, _ in asked]
    order = ["/containers/create", "/containers/c0ffee/start", "/containers/c0ffee/exec", "/containers/c0ffee"]
    assert [path for method, path in calls if method in ("POST", "DELETE") and path in order] == order
    created = next(body for _, path, body in asked if path == "/containers/create")
    assert created["Image"] == "postgres:18"
    assert "POSTGRES_DB=test" in created["Env"]
    assert "5432/tcp" in created["ExposedPorts"]
    waited = next(body for _, path, body in asked if path == "/containers/c0ffee/exec")
    assert "psql" in " ".join(waited["Cmd"])  # ready is what answers a query, over TCP
    assert "--host 127.0.0.1" in " ".join(waited["Cmd"])

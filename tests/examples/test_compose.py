"""docker-compose.yml and Dockerfile, as far as they can be tested without an engine: the rest is said in the docs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.examples.conftest import EXAMPLES
from tests.support.held import wait_until

TOP = EXAMPLES.parent
COMPOSE = TOP / "docker-compose.yml"
DOCKERFILE = (TOP / "Dockerfile").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]


def test_the_file_is_valid_by_the_compose_specification() -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_database_keeps_its_data_where_postgresql_18_looks_for_it() -> None:
    database = SERVICES["db"]
    assert database["image"] == "postgres:18"
    volume, _, path = database["volumes"][0].partition(":")
    assert path == "/var/lib/postgresql"
    assert volume in yaml.safe_load(COMPOSE.read_text())["volumes"]
    assert database["healthcheck"]["test"][1] == "pg_isready"


def test_one_migration_comes_before_three_workers() -> None:
    assert SERVICES["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    assert SERVICES["migrate"]["restart"] == "no"
    assert SERVICES["worker"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert SERVICES["worker"]["deploy"] == {"replicas": 3}
    assert SERVICES["worker"]["restart"] == "unless-stopped"


def test_a_worker_may_use_its_whole_grace_before_it_is_killed() -> None:
    command = SERVICES["worker"]["command"]
    grace = float(command[command.index("--grace") + 1])
    assert float(SERVICES["worker"]["stop_grace_period"].removesuffix("s")) > grace + 2
    assert SERVICES["worker"]["init"]


def test_the_only_password_is_marked_as_one_for_development() -> None:
    text = COMPOSE.read_text() + DOCKERFILE
    lines = [line.strip() for line in text.splitlines() if "PASSWORD:" in line or "PASSWORD=" in line]
    assert {line.partition(": ")[2] for line in lines} == {"${SHOP_PASSWORD:-only-for-development}"}
    assert "@db" in SERVICES["worker"]["environment"]["HOWDAH_DSN"]
    assert ":" not in SERVICES["worker"]["environment"]["HOWDAH_DSN"].partition("//")[2]


def test_the_commands_of_the_services_work_and_the_health_check_finds_a_worker(fresh_dsn: str, tmp_path: Path) -> None:
    environ = {**os.environ, "HOWDAH_DSN": fresh_dsn}
    howdah = [sys.executable, "-m", "howdah"]
    subprocess.run([*howdah, *SERVICES["migrate"]["command"]], env=environ, check=True, capture_output=True)
    port = free_port()
    command = [word.replace("8080", port) for word in SERVICES["worker"]["command"]]
    check = [sys.executable, *(word.replace("8080", port) for word in SERVICES["worker"]["healthcheck"]["test"][2:])]
    log = tmp_path / "log"
    with log.open("wb") as out, subprocess.Popen([*howdah, *command], cwd=EXAMPLES, env=environ, stderr=out) as worker:
        try:
            wait_until(lambda: healthy(check) or worker.poll() is not None, timeout=20, what="a healthy worker")
            assert healthy(check), log.read_text()
        finally:
            worker.send_signal(signal.SIGTERM)
    assert worker.returncode == 0, log.read_text()
    assert not healthy(check)


def test_the_image_runs_howdah_itself_and_not_as_root() -> None:
    assert steps("FROM") == ["python:3.13-slim"]
    assert steps("USER") == ["howdah"]
    assert json.loads(steps("ENTRYPOINT")[0]) == ["howdah"]
    assert json.loads(steps("CMD")[0])[0] == "worker"
    assert not any(word in DOCKERFILE for word in ("ARG ", "curl", "ADD "))


def test_the_image_gets_all_that_the_package_is_built_from(tmp_path: Path) -> None:
    pytest.importorskip("pip")
    allowed = (TOP / ".dockerignore").read_text().splitlines()
    assert "*" in allowed
    for step in steps("COPY"):
        *sources, target = step.split()
        assert all(f"!{source}" in allowed for source in sources)
        for source in sources:
            copy(TOP / source, tmp_path / (target if target != "." else "app"))
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    if done.returncode and "Could not find a version" in done.stderr:
        pytest.skip("no package index for the build backend")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("howdah-*.whl"))
    module = json.loads(steps("CMD")[0])[2]
    assert (tmp_path / "app" / f"{module.replace('.', '/')}.py").exists()


def steps(instruction: str) -> list[str]:
    """What the Dockerfile says after each of these words."""
    return [line.removeprefix(f"{instruction} ") for line in DOCKERFILE.splitlines() if line.startswith(instruction)]


def copy(source: Path, target: Path) -> None:
    """As COPY: a file into a folder, the contents of a folder into a folder."""
    ignored = shutil.ignore_patterns("__pycache__")
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=ignored)
    else:
        shutil.copy(source, target)


def healthy(check: list[str]) -> bool:
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])

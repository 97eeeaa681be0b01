"""Run the blocks of one page in their order: python -m tests.docs.run_page docs/quickstart.md, in an empty folder.

HOWDAH_DSN names a database with the schema and the shop's tables. Ends with the first block that fails.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.docs.fences import RUN, TOP, Fence, fences

PORT = re.compile(r"(--health-port) \d+")  # any free one
PATH = re.compile(r"# ([\w/]+\.py)\n")
LONG = {"howdah worker ": signal.SIGTERM, "howdah dev ": signal.SIGINT}  # how each is told to stop
WORKS = "serving queues"  # what the log of each of these says
TELLS = ("howdah doctor",)  # status 1 is what it has found
PATIENCE = 30  # seconds for a command


def main(page: Path) -> None:
    """Run what is to be run of a page."""
    sys.path.insert(0, "")
    namespace = types.ModuleType("page")
    sys.modules["page"] = namespace  # kinds that a page defines belong to it
    with asyncio.Runner() as runner:
        ways: dict[str, Callable[[Fence], None]] = {
            "python": lambda fence: run_python(fence, namespace, runner),
            "bash": run_bash,
            "sql": run_sql,
        }
        for fence in fences(page):
            if fence.language in RUN and fence.reason_not_to_run is None:
                print(f"{fence.page}:{fence.line}", flush=True)
                ways[fence.language](fence)


def run_python(fence: Fence, namespace: types.ModuleType, runner: asyncio.Runner) -> None:
    """Run it in the page's namespace, or write the module whose path it begins with, and import that."""
    if path := PATH.match(fence.text):
        write_module(Path(path[1]), fence.text)
        return
    text = "\n" * (fence.line - 1) + fence.text  # a traceback shows the page's lines
    code = compile(text, TOP / fence.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    waiting: Any = eval(code, vars(namespace))
    if waiting is not None:
        runner.run(_awaited(waiting))


def write_module(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    name = ".".join(path.with_suffix("").parts)
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    importlib.import_module(name)


def run_bash(fence: Fence) -> None:
    """Run it line by line; what runs for long ends with the block, and as it should."""
    with ExitStack() as running:
        for line in PORT.sub(r"\1 0", fence.text.replace("\\\n", " ")).splitlines():
            if line.startswith("export HOWDAH_DSN="):
                continue  # the test has its own database
            if line.startswith("export "):
                os.environ.update(word.split("=", 1) for word in shlex.split(line, comments=True)[1:])
            elif line.startswith(tuple(LONG)):
                running.enter_context(working(line))
            elif line and not line.startswith("#"):
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=False, timeout=PATIENCE)
                fine = (0, 1) if line.startswith(TELLS) else (0,)
                assert done.returncode in fine, f"{line!r} ended with status {done.returncode}"


@contextmanager
def working(line: str) -> Iterator[None]:
    """Start it, and wait until it works; in the end stop it, and see it end well."""
    log = Path(f"log-{time.monotonic_ns()}")
    with log.open("w") as out:
        process = subprocess.Popen(["bash", "-c", f"exec {line}"], stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + PATIENCE
        while WORKS not in log.read_text():
            assert process.poll() is None, f"{line!r} has ended"
            assert time.monotonic() < deadline, f"{line!r} does not work after {PATIENCE} s"
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(next(number for start, number in LONG.items() if line.startswith(start)))
        status = process.wait(PATIENCE)
        print(log.read_text(), flush=True)
    assert status == 0, f"{line!r} ended with status {status}"


def run_sql(fence: Fence) -> None:
    with psycopg.connect(os.environ["HOWDAH_DSN"], autocommit=True) as connection:
        connection.execute(fence.text)


async def _awaited(waiting: Any) -> None:
    await waiting


if __name__ == "__main__":
    main(TOP / sys.argv[1])  # which leaves an absolute path as it is

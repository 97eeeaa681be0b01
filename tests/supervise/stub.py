"""A process of a supervisor in a test: what it does is its argument. Its supervisor is `python -m …stub N WHAT`."""

from __future__ import annotations

import http.server
import logging
import os
import signal
import sys
import time
from pathlib import Path

from howdah.supervise.child import Program
from howdah.supervise.lifeline import Lifeline
from howdah.supervise.supervisor import Supervisor

GRACE = 0.2


def main(what: str, options: dict[str, str]) -> None:
    if what == "crash":
        os._exit(2)
    line = Lifeline(int(options["--lifeline"]))
    if what == "refuse" or (what.startswith("refuse-if:") and Path(what.removeprefix("refuse-if:")).exists()):
        line.refused()
        sys.exit(2)
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    print(f"{os.getpid()} hears", flush=True)
    line.loaded(GRACE if what == "deaf" else 30)
    if "--health-port" in options:
        serve(int(options["--health-port"]))
    while len(heard) < {"deaf": 100, "stubborn": 2}.get(what, 1):
        time.sleep(0.01)
    sys.exit(7 if what == "fail" else 0)


def serve(port: int) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), http.server.SimpleHTTPRequestHandler)
    server.serve_forever()


def supervise(count: int, what: str) -> int:
    logging.basicConfig(level="INFO", format="%(message)s")
    command = [sys.executable, "-m", "tests.supervise.stub", what]
    return Supervisor(Program(command, GRACE), count).run()


if __name__ == "__main__":
    if sys.argv[1].isdecimal():
        sys.exit(supervise(int(sys.argv[1]), sys.argv[2]))
    main(sys.argv[1], dict(option.split("=", 1) for option in sys.argv[2:]))

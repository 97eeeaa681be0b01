"""A module of kinds whose log hangs as the worker stops, as a full pipe does, or a log server that does not answer."""

from __future__ import annotations

import logging
import threading

from howdah import job


class Hanging(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if "stopping" in record.getMessage():
            threading.Event().wait()


logging.getLogger().addHandler(Hanging())


@job
def look() -> None: ...

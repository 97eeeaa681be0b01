"""Commands run in this process, so that they are quick; signals and start-up times are tried in tests/journey."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from howdah import Client
from howdah.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command has printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Howdah = Callable[..., Ran]


@pytest.fixture
def howdah(dsn: str) -> Howdah:
    """Run a command on `dsn`; what it is asked is answered by `input`."""

    def run(*arguments: object, input: str | None = None, on: str = dsn) -> Ran:  # noqa: A002
        environment = {"HOWDAH_DSN": on, "NO_COLOR": "1", "COLUMNS": "200"}
        result = CliRunner().invoke(main, [str(each) for each in arguments], input=input, env=environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        yield client

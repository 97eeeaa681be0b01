"""A place to measure in, on the server of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from howdah.bench.place import Bench, opened
from tests.support.servers import Server


@pytest.fixture(scope="session")
def bench(server: Server) -> Iterator[Bench]:
    with opened(server.dsn) as (bench, _):
        yield bench

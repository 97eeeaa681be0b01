"""Fixtures of the races: clients, and connections whose statements fail rather than wait for long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from psycopg import Connection

from howdah import Client
from tests.support.held import Connect


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        yield client


@pytest.fixture
def cloned(cloned_dsn: str) -> Iterator[Client]:
    """A client of a database that this test may change."""
    with Client(cloned_dsn) as client:
        yield client


@pytest.fixture
def conn(connect: Connect) -> Connection[Any]:
    """The test's own connection: where it waits for a lock that the test itself holds, it fails and does not hang."""
    return connect(options="-c lock_timeout=5s")


@pytest.fixture
def impatient(connect: Connect) -> Callable[[], Connection[Any]]:
    """Open connections on which whatever waits for a lock fails after a second."""
    return lambda: connect(options="-c lock_timeout=1s")

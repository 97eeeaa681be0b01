"""The fixtures of all tests that need a PostgreSQL. The server starts with the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from tests.support.databases import database, empty
from tests.support.held import Connect
from tests.support.servers import NoServer, Server, choose


def pytest_report_header() -> str:
    try:
        source = choose()
    except NoServer as error:
        return f"server: none; {error}"
    return f"server: {source.description} ({source.name})"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that the others run beside them."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """The PostgreSQL server of this session, or of this xdist worker."""
    with choose().started() as running:
        yield running


@pytest.fixture(scope="session")
def template(server: Server) -> Iterator[str]:
    """The name of a database with the schema, to be cloned. Nobody may be connected to it."""
    from howdah.migrations import migrate

    with database(server) as name:
        migrate(server.dsn_for(name))
        yield name


@pytest.fixture(scope="session")
def shared_database(server: Server, template: str) -> Iterator[str]:
    """The DSN of the one clone that `dsn` empties for each test."""
    with database(server, template=template) as name:
        yield server.dsn_for(name)


@pytest.fixture
def dsn(shared_database: str) -> str:
    """The DSN of a database with the schema and nothing in it; ids do not start at 1."""
    empty(shared_database)
    return shared_database


@pytest.fixture
def fresh_dsn(server: Server) -> Iterator[str]:
    """The DSN of a new database without the schema."""
    with database(server) as name:
        yield server.dsn_for(name)


@pytest.fixture
def cloned_dsn(server: Server, template: str) -> Iterator[str]:
    """The DSN of a new database with the schema, for a test that changes it."""
    with database(server, template=template) as name:
        yield server.dsn_for(name)


@pytest.fixture
def connect(dsn: str, request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Open further connections to `dsn`, in autocommit mode unless told otherwise; closed after the test."""
    # PostgreSQL cuts names at 63 bytes.
    defaults = {"autocommit": True, "application_name": request.node.name[:63]}
    with ExitStack() as opened:

        def open_connection(**options: Any) -> Connection[Any]:
            connection = psycopg.connect(dsn, **{**defaults, **options})
            opened.callback(connection.close)  # leaving its `with` would wait for a thread that still uses it
            return connection

        yield open_connection


@pytest.fixture
def conn(connect: Connect) -> Connection[Any]:
    """A connection to `dsn` in autocommit mode."""
    return connect()

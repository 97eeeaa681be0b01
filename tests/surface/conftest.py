from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from howdah import Client


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        yield client


@pytest.fixture
def one(conn: psycopg.Connection) -> Callable[..., dict[str, Any]]:
    """The first row of a query, by name."""

    def fetch(query: str, *params: object) -> dict[str, Any]:
        row = conn.cursor(row_factory=dict_row).execute(query.encode(), params).fetchone()
        assert row is not None, f"no row: {query}"
        return row

    return fetch

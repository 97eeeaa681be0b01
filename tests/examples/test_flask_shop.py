"""The Flask example: of many price changes the newest is printed."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.examples.conftest import Load, Run


@pytest.fixture
def web(load: Load) -> Any:
    return load("flask_shop.app").app.test_client()


def test_the_newest_price_is_printed_by_a_worker(web: Any, run: Run, cloned_dsn: str) -> None:
    for cents in (100, 250, 199):
        assert web.put("/products/7", json={"name": "Tea", "cents": cents}).status_code == 202
    assert web.get("/products/7/tag").json == {"text": None}
    run("howdah", "drain", "-m", "flask_shop.jobs", "-q", "printing:2")
    assert web.get("/products/7/tag").json == {"text": "Tea: 1.99"}
    with psycopg.connect(cloned_dsn) as connection:
        states = connection.execute("SELECT state FROM howdah.all_jobs ORDER BY id").fetchall()
    assert states == [("superseded",), ("superseded",), ("completed",)]


def test_a_request_that_fails_leaves_neither_price_nor_job(web: Any, cloned_dsn: str) -> None:
    answer = web.put("/products/7", json={"name": "Tea", "cents": 10**12})  # not an integer of PostgreSQL
    assert answer.status_code == 500
    with psycopg.connect(cloned_dsn) as connection:
        assert connection.execute("SELECT FROM products").fetchall() == []
        assert connection.execute("SELECT FROM howdah.all_jobs").fetchall() == []

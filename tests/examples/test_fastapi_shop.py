"""The FastAPI example: an order and its job are one transaction, a worker charges it and tells the customer."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient

from tests.examples.conftest import Load, Run
from tests.support.held import wait_until

ORDER = {"email": "a@example.com", "cents": 1234}
RESULTS = "SELECT kind, state, result FROM howdah.all_jobs ORDER BY id"


def test_an_order_is_charged_by_a_worker_and_the_customer_is_told(load: Load, run: Run, cloned_dsn: str) -> None:
    with TestClient(load("fastapi_shop.app").app) as web:
        answer = web.post("/orders", json=ORDER)
        assert answer.status_code == 201
        order = f"/orders/{answer.json()['order']}"
        assert web.get(order).json() == {"paid": False}
        # the second queue is claimed after the first, so one drain runs the follow-up too
        run("howdah", "drain", "-m", "fastapi_shop.jobs", "-q", "payments:5", "-q", "mail:5")
        assert web.get(order).json() == {"paid": True}
    assert query(cloned_dsn, RESULTS) == [
        ("charge", "completed", "paid"),
        ("send_receipt", "completed", "told a@example.com that 12.34 were paid"),
    ]


def test_a_request_that_fails_leaves_neither_order_nor_job(
    load: Load, cloned_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = load("fastapi_shop.app")
    charge = shop.charge

    class FailsLate:
        async def enqueue(self, session: Any, **args: Any) -> None:
            assert (await charge.enqueue(session, **args)).created
            raise RuntimeError

    monkeypatch.setattr(shop, "charge", FailsLate())
    with TestClient(shop.app, raise_server_exceptions=False) as web:
        assert web.post("/orders", json=ORDER).status_code == 500
        assert web.post("/orders", json={**ORDER, "cents": 0}).status_code == 422
    assert query(cloned_dsn, "SELECT count(*) FROM orders") == [(0,)]
    assert query(cloned_dsn, RESULTS) == []


def test_an_order_that_is_gone_is_not_tried_again(load: Load, run: Run, cloned_dsn: str) -> None:
    with TestClient(load("fastapi_shop.app").app) as web:
        web.post("/orders", json=ORDER)
    query(cloned_dsn, "DELETE FROM orders RETURNING id")
    run("howdah", "drain", "-m", "fastapi_shop.jobs", "-q", "payments")
    assert query(cloned_dsn, "SELECT kind, state FROM howdah.all_jobs") == [("charge", "discarded")]


def test_all_in_one_process_works_too(load: Load, cloned_dsn: str) -> None:
    with TestClient(load("fastapi_shop.all_in_one").app) as web:
        order = f"/orders/{web.post('/orders', json=ORDER).json()['order']}"
        wait_until(lambda: web.get(order).json()["paid"], what="the order to be charged")
        wait_until(lambda: len(query(cloned_dsn, "SELECT FROM howdah.history")) == 2, what="both jobs to end")
    # the worker took itself off the list: it stopped gracefully
    assert query(cloned_dsn, "SELECT worker FROM howdah.workers") == []


def query(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(statement).fetchall()

"""What cannot be enqueued is refused before anything is written: typed, named, and nothing is left behind."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from howdah import AsyncClient, Client, HowdahError, InvalidArgs, InvalidOption, job
from tests.targets.every_target import TARGETS, Target, done, execute


@job(kind="a")
def a(n: int, text: str = "") -> None: ...


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        yield client


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(count: Callable[[], int]) -> Iterator[None]:
    yield
    assert count() == 0


BAD_ARGS: dict[str, tuple[Callable[[Any], Any], str | None]] = {
    "missing": (lambda on: a.enqueue(on), "n"),  # type: ignore[call-arg]
    "too many": (lambda on: a.enqueue(on, 1, "x", 3), None),  # type: ignore[call-arg]
    "unknown name": (lambda on: a.enqueue(on, n=1, txt="x"), "txt"),  # type: ignore[call-arg]
    "wrong type": (lambda on: a.enqueue(on, n="1"), "n"),  # type: ignore[arg-type]
    "NUL": (lambda on: a.enqueue(on, n=1, text="a\0b"), "text"),
    "lone surrogate": (lambda on: a.enqueue(on, n=1, text="\ud800"), "text"),
    "over 1 MiB": (lambda on: a.enqueue(on, n=1, text="x" * 2**20), None),
    "one bad in a batch": (lambda on: a.enqueue_many(on, [{"n": 1}, {"n": None}]), "n"),
}


@pytest.mark.parametrize(("enqueue", "field"), BAD_ARGS.values(), ids=BAD_ARGS.keys())
def test_bad_args_of_a_handler_are_refused(enqueue: Callable[[Any], Any], field: str | None, client: Client) -> None:
    with pytest.raises(InvalidArgs) as error:
        enqueue(client)
    assert (error.value.kind, error.value.field) == ("a", field) if field else error.value.kind == "a"


@pytest.mark.parametrize(
    "args",
    [
        {"x": math.nan},
        {"x": [1, {"y": math.inf}]},
        {"x": "a\0b"},
        {"x": "\udfff"},
        {"a\0b": 1},
        {"x": object()},
        {"x": "x" * 2**20},
        [1],
        "text",
        None,
    ],
    ids=lambda args: repr(args)[:15],
)
def test_args_that_json_or_postgresql_cannot_hold_are_refused(args: Any, client: Client) -> None:
    with pytest.raises(InvalidArgs):
        client.enqueue("a", args)


BAD_OPTIONS: list[tuple[str, Any]] = [
    *(
        (name, value)
        for name in ("queue", "key", "subject")
        for value in ("", "x" * 201, "é" * 101, "a\0b", "\ud800", 7)
    ),
    *((name, value) for name in ("delay", "expires_in") for value in (-1, math.nan, math.inf, 1e12, "60", True)),
    ("delay", timedelta(seconds=-1)),
    ("run_at", datetime(2030, 1, 1)),  # noqa: DTZ001
    ("run_at", "2030-01-01T00:00:00Z"),
    ("priority", 32_768),
    ("priority", 1.5),
    ("max_attempts", 0),
    ("max_attempts", True),
    ("key_for", 60),  # without a key
    ("headers", {"a": 1}),
    ("headers", {"": "x"}),
    ("headers", {"a": "b\0"}),
    ("tags", "one"),
    ("tags", [""]),
    ("lane", "x"),
    ("quueue", "x"),
]


@pytest.mark.parametrize(("name", "value"), BAD_OPTIONS, ids=lambda value: repr(value)[:20])
def test_a_bad_option_is_refused_and_named(name: str, value: Any, client: Client) -> None:
    for call in (
        lambda: client.enqueue("a", {}, **{name: value}),
        lambda: client.new("a", {}, **{name: value}),
        lambda: a.options(**{name: value}),
    ):
        with pytest.raises(InvalidOption) as error:
            call()
        assert error.value.name == name


def test_either_delay_or_run_at(client: Client) -> None:
    with pytest.raises(InvalidOption, match="either delay or run_at"):
        client.enqueue("a", {}, delay=1, run_at=datetime.now(UTC))


@pytest.mark.parametrize("kind", ["", "x" * 201, "a\0b", None, 7])
def test_a_bad_name_of_a_kind_is_refused(kind: Any, client: Client) -> None:
    with pytest.raises(InvalidOption, match=r"^kind="):
        client.enqueue(kind, {})


@pytest.mark.parametrize("lease", [0, -1, 86_401, timedelta(hours=25), math.nan, "60"])
def test_a_lease_of_nothing_or_over_24_hours_is_refused(lease: Any, client: Client) -> None:
    for call in (lambda: client.claim(worker="w", lease=lease), lambda: client.claim_job(1, worker="w", lease=lease)):
        with pytest.raises(InvalidOption, match=r"^lease="):
            call()
    with pytest.raises(InvalidOption, match=r"^lease="):
        job(lease=lease)


@pytest.mark.parametrize(
    "claim", [{"limit": 0}, {"limit": 10_001}, {"worker": ""}, {"queues": "mail"}, {"queues": ["mail", ""]}], ids=str
)
def test_a_bad_claim_is_refused(claim: dict[str, Any], client: Client) -> None:
    with pytest.raises(InvalidOption, match=f"^{next(iter(claim))}="):
        client.claim(**{"worker": "w", **claim})


@pytest.mark.parametrize("job_id", [0, -1, 2**63, "1", None, 1.0])
def test_what_is_no_id_is_refused(job_id: Any, client: Client) -> None:
    for call in (client.get, client.cancel, client.requeue, lambda job_id: client.wait(job_id, 1)):
        with pytest.raises(InvalidOption, match=r"^job_id="):
            call(job_id)


@pytest.mark.parametrize("option", [{"key": "k"}, {"subject": "s"}], ids=str)
def test_a_bulk_load_takes_neither_keys_nor_subjects(option: dict[str, Any], client: Client, dsn: str) -> None:
    with pytest.raises(InvalidOption, match=r"load\(\) takes no keys or subjects: use enqueue_many"):
        client.load([a.new(n=1), a.options(**option).new(n=2)])


def test_what_is_no_job_is_refused(client: Client) -> None:
    for call in (client.enqueue_many, client.load):
        with pytest.raises(TypeError, match="dict is not a NewJob: make it by"):
            call([{"n": 1}])


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_refusal_leaves_the_callers_transaction_usable(target: Target, dsn: str) -> None:
    async def test() -> None:
        async with target.open(dsn) as on:
            for refused in (lambda: a.enqueue(on, n="1"), lambda: a.enqueue_many(on, [{"n": 1}, {}])):  # type: ignore[arg-type]
                with pytest.raises(InvalidArgs):
                    await done(refused())
            await execute(on, "SELECT 1")
            await done(on.rollback())

    asyncio.run(test())


def test_an_async_client_refuses_the_same(dsn: str) -> None:
    async def test() -> None:
        async with AsyncClient(dsn) as client:
            for refused in (
                client.enqueue("a", {"x": "\0"}),
                client.enqueue("a", {}, delay=-1),
                client.enqueue("", {}),
                client.claim(worker="w", lease=0),
                client.get(0),
            ):
                with pytest.raises((InvalidArgs, InvalidOption)):
                    await refused

    asyncio.run(test())


def test_sql_is_data(client: Client, conn: psycopg.Connection) -> None:
    evil = "'; DROP SCHEMA howdah CASCADE; -- %(kind)s %s :x $1"
    enqueued = client.enqueue(evil, {evil: evil}, key=evil, queue=evil, tags=[evil], headers={evil: evil})
    found = client.get(enqueued.id)
    assert (found.kind, found.queue, found.key) == (evil, evil, evil)
    assert (found.args, found.headers, list(found.tags)) == ({evil: evil}, {evil: evil}, [evil])
    conn.execute("DELETE FROM howdah.jobs; DELETE FROM howdah.keys")


def test_every_refusal_is_a_howdah_error_and_a_value_error() -> None:
    assert all(
        issubclass(error, HowdahError) and issubclass(error, ValueError) for error in (InvalidArgs, InvalidOption)
    )

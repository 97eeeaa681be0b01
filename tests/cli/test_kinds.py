"""`howdah kinds list|set|reset`: an operator's policy stays until it is reset."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from howdah.model.job import Policy
from howdah.store import workers
from tests.cli.conftest import Howdah
from tests.support.jobs import run

DECLARED = Policy("mail", queue="mail", max_attempts=5, lease=30.0, on_discard="landing")


def declare(conn: psycopg.Connection, policy: Policy = DECLARED) -> None:
    run(conn, workers.register_kinds([policy], "w"))


def policy(howdah: Howdah, kind: str = "mail") -> dict[str, Any]:
    return next(row for row in howdah("kinds", "list", "-o", "json").json if row["kind"] == kind)


def audited(conn: psycopg.Connection) -> list[Any]:
    return conn.execute("SELECT action, kind, note FROM howdah.audit ORDER BY id").fetchall()


def test_set_changes_what_is_named_and_nothing_else(howdah: Howdah, conn: psycopg.Connection) -> None:
    declare(conn)
    ran = howdah("kinds", "set", "mail", "--max-attempts", 3, "--lease", "2m", "--note", "slow provider", "-o", "json")
    assert (ran.status, ran.err) == (0, "")
    expected = {"max_attempts": 3, "lease": 120.0, "queue": "mail", "on_discard": "landing", "pinned": True}
    assert expected.items() <= ran.json.items()
    assert expected.items() <= policy(howdah).items()
    assert audited(conn) == [("kinds set", "mail", "slow provider")]


def test_every_part_has_its_option(howdah: Howdah, conn: psycopg.Connection) -> None:
    declare(conn)
    howdah(
        *("kinds", "set", "mail", "--queue", "q", "--max-attempts", 1, "--retry-base", "1m", "--retry-factor", 3),
        *(
            "--retry-cap",
            "1d",
            "--retry-jitter",
            0.5,
            "--lease",
            9,
            "--on-crash",
            "unknown",
            "--on-supersede",
            "finish",
        ),
        *("--on-discard", "a", "--on-unknown", "b"),
    )
    assert {
        "queue": "q",
        "max_attempts": 1,
        "retry_base": 60.0,
        "retry_factor": 3.0,
        "retry_cap": 86400.0,
        "retry_jitter": 0.5,
        "lease": 9.0,
        "on_crash": "unknown",
        "on_supersede": "finish",
        "on_discard": "a",
        "on_unknown": "b",
    }.items() <= policy(howdah).items()
    howdah("kinds", "set", "mail", "--no-on-discard", "--no-on-unknown")
    found = policy(howdah)
    assert (found["on_discard"], found["on_unknown"], found["lease"]) == (None, None, 9.0)


def test_what_workers_declare_waits_for_the_reset(howdah: Howdah, conn: psycopg.Connection) -> None:
    declare(conn)
    howdah("kinds", "set", "mail", "--lease", 5)
    declare(conn, Policy("mail", queue="mail", lease=77.0))
    assert policy(howdah)["lease"] == 5.0
    ran = howdah("kinds", "reset", "mail", "--note", "over")
    assert ran.status == 0
    found = policy(howdah)
    assert (found["lease"], found["max_attempts"], found["on_discard"], found["pinned"]) == (77.0, 10, None, False)
    assert [entry[0] for entry in audited(conn)] == ["kinds set", "declare", "kinds reset"]
    assert howdah("kinds", "reset", "mail").out == "mail was not set: nothing to reset\n"
    assert len(audited(conn)) == 3
    declare(conn, Policy("mail", lease=78.0))
    assert policy(howdah)["lease"] == 78.0


def test_a_kind_that_nobody_has_declared_is_set_with_a_note_and_forgotten_by_the_reset(
    howdah: Howdah, conn: psycopg.Connection
) -> None:
    declare(conn)
    ran = howdah("kinds", "set", "mial", "--max-attempts", 2)
    assert (ran.status, "did you mean 'mail'" in ran.err) == (0, True)
    assert {"max_attempts": 2, "lease": 60.0, "pinned": True, "declared": None}.items() <= policy(
        howdah, "mial"
    ).items()
    declare(conn, Policy("mial", max_attempts=9))
    assert policy(howdah, "mial")["max_attempts"] == 2
    howdah("kinds", "set", "other", "--max-attempts", 2)
    assert "forgotten" in howdah("kinds", "reset", "other").out
    assert [row["kind"] for row in howdah("kinds", "list", "-o", "json").json] == ["mail", "mial"]


def test_resetting_an_unknown_kind_fails_and_names_the_nearest(howdah: Howdah, conn: psycopg.Connection) -> None:
    declare(conn)
    ran = howdah("kinds", "reset", "mial")
    assert (ran.status, "did you mean 'mail'" in ran.err) == (1, True)


@pytest.mark.parametrize(
    "given",
    [
        (),
        ("--max-attempts", 0),
        ("--max-attempts", 32768),
        ("--retry-base", "-1"),
        ("--retry-base", "9999d"),
        ("--retry-factor", 0.5),
        ("--retry-factor", "nan"),
        ("--retry-jitter", 1.5),
        ("--lease", 0),
        ("--lease", "25h"),
        ("--queue", ""),
        ("--on-crash", "explode"),
        ("--on-discard", "x" * 201),
        ("--on-discard", "x", "--no-on-discard"),
        ("--lease", 5, "--note", "a\0b"),
    ],
)
def test_what_a_decorator_would_refuse_is_refused_here(
    howdah: Howdah, conn: psycopg.Connection, given: tuple[object, ...]
) -> None:
    ran = howdah("kinds", "set", "mail", *given)
    assert (ran.status, ran.out) == (2, "")
    assert howdah("kinds", "list").out == "none\n"
    assert audited(conn) == []


def test_a_kind_is_listed_for_people(howdah: Howdah, conn: psycopg.Connection) -> None:
    declare(conn, Policy("\x1b[31mmail", on_crash="unknown"))
    table = howdah("kinds", "list").out
    assert "\x1b" not in table
    assert "unknown" in table


def test_people_are_shown_what_differs_from_the_code(howdah: Howdah, conn: psycopg.Connection) -> None:
    declare(conn)
    lines = howdah("kinds", "set", "mail", "--max-attempts", 3, "--no-on-discard").out.splitlines()
    assert [line.split() for line in lines] == [
        ["kind", "mail"],
        ["max_attempts", "3", "(its", "code:", "5)"],
        ["on_discard", "none", "(its", "code:", "landing)"],
    ]
    reset = [line.split()[0] for line in howdah("kinds", "reset", "mail").out.splitlines()]
    assert reset[:4] == ["kind", "queue", "max_attempts", "retry_base"]

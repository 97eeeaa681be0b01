"""Tables fit into a terminal: a line for each row, and what decides is never cut."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from howdah.cli.table import fitted, lines
from tests.cli.conftest import Howdah
from tests.journey.conftest import HOWDAH, environment
from tests.support.jobs import make_job

Terminal = Callable[..., list[str]]
LONG_KIND = "shop.orders.reports.monthly_summary_for_the_accountants"


@pytest.fixture
def terminal(dsn: str) -> Terminal:
    """The lines that a command prints in a terminal of so many columns."""

    def run(width: int, *words: str) -> list[str]:
        pid, descriptor = pty.fork()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
            os.execve(HOWDAH[0], [*HOWDAH, *words], {**environment(dsn), "COLUMNS": ""})
        said = b""
        try:
            while chunk := os.read(descriptor, 65_536):
                said += chunk
        except OSError:  # its end has closed the terminal
            pass
        assert os.waitpid(pid, 0)[1] == 0, said
        return said.decode().splitlines()

    return run


@pytest.fixture
def crowded(conn: psycopg.Connection) -> list[int]:
    error = {"type": "RuntimeError", "message": "the provider says: come back later " * 9}
    conn.execute(
        "INSERT INTO howdah.workers (worker, hostname, pid, version, queues) VALUES (%s, 'vm-0123', 4711, '0.1.0', %s)",
        ["vm-01ab23cd-web-7f9c:4711:ab12", Jsonb({"mail": 5, "reports": 2})],
    )
    conn.execute("INSERT INTO howdah.kinds (kind, on_discard) VALUES (%s, 'tell_somebody')", [LONG_KIND])
    long_ago = sql.SQL("clock_timestamp() - interval '3 days'")
    return [
        make_job(conn, "discarded", kind="send_mail", queue="mail", errors=[error], tags=sql.SQL("ARRAY['big', 'x']")),
        make_job(conn, "scheduled", kind=LONG_KIND, queue="reports", key="k" * 60),
        make_job(conn, "running", kind="send_mail", worker="vm-01ab23cd-web-7f9c:4711:ab12"),
        make_job(conn, "available", kind="send_mail", run_at=long_ago, created_at=long_ago),
    ]


@pytest.mark.parametrize("width", [80, 140])
def test_each_job_is_one_line_of_the_terminal(terminal: Terminal, crowded: list[int], width: int) -> None:
    head, *rows = terminal(width, "jobs", "list")
    assert [row.split()[0] for row in rows] == [str(job) for job in reversed(crowded)]
    assert [row.split()[1] for row in rows] == ["available", "running", "scheduled", "discarded"]
    assert max(map(len, [head, *rows])) <= width
    assert ("in 60m" in rows[2], "3d ago" in rows[0], "RuntimeErro" in rows[3]) == (True, True, True)
    assert "tags" not in head
    assert (LONG_KIND in rows[2]) == (width == 140)


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("what", ["queues", "workers", "kinds"])
def test_the_other_lists_fit_too(terminal: Terminal, crowded: list[int], what: str, width: int) -> None:
    assert max(map(len, terminal(width, what, "list"))) <= width


def test_wide_has_everything_and_cuts_nothing(terminal: Terminal, howdah: Howdah, crowded: list[int]) -> None:
    for said in ("\n".join(terminal(80, "jobs", "list", "--wide")), howdah("jobs", "list", "--wide").out):
        for cell in (LONG_KIND, "k" * 60, "big, x", "vm-01ab23cd-web-7f9c:4711:ab12", "enqueued"):
            assert cell in said


def test_attempts_are_those_that_count(howdah: Howdah, conn: psycopg.Connection) -> None:
    make_job(conn, "discarded", attempt=4, excused=2, max_attempts=2)
    assert " 2/2" in howdah("jobs", "list").out
    (row,) = howdah("jobs", "list", "-o", "json").json
    assert (row["attempt"], row["excused"]) == (4, 2)


def test_where_room_is_short_the_last_column_gives_way_then_the_spare_ones_then_the_widest() -> None:
    widths = {"id": 5, "kind": 60, "when": 10, "error": 60}

    def fit(room: int) -> list[int]:
        return list(fitted(widths, room, ["when"], ["id"]).values())

    assert fit(141) == [5, 60, 10, 60]
    assert fit(100) == [5, 60, 10, 19]
    assert fit(97) == [5, 60, 10, 16]
    assert fit(96) == [5, 60, 27]
    assert fit(60) == [5, 35, 16]
    assert fit(10) == [5, 16, 16]


def test_wide_characters_count_twice() -> None:
    rows = [{"id": "1", "error": "東京" * 20}]
    assert list(lines(rows, 23)) == ["id  error", "1   東京東京東京東京東…"]

"""`--help` of every command says what it does and how, at once."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import click
import pytest

from howdah.cli import main
from howdah.cli.main import COMMANDS
from tests.cli.conftest import Howdah

MINE = ("enqueue", "jobs", "kinds", "queues", "sweep", "workers")
HEAVY = (
    "psycopg",
    "psycopg_pool",
    "sqlalchemy",
    "alembic",
    "rich",
    "asyncio",
    "http.server",
    "socketserver",
    "msgspec",
)


def paths() -> list[tuple[str, ...]]:
    with click.Context(main) as ctx:
        found: list[tuple[str, ...]] = []
        for name in MINE:
            command = main.get_command(ctx, name)  # type: ignore[attr-defined]
            found.append((name,))
            if isinstance(command, click.Group):
                found += [(name, verb) for verb in command.commands]
    return found


def test_all_verbs_are_there() -> None:
    assert set(MINE) <= COMMANDS.keys()
    assert {" ".join(path) for path in paths() if len(path) == 2} == {
        *("jobs list", "jobs show", "jobs cancel", "jobs requeue", "jobs resolve", "jobs tail"),
        *("queues list", "queues pause", "queues resume", "workers list", "kinds list", "kinds set", "kinds reset"),
    }


@pytest.mark.parametrize("path", paths(), ids=" ".join)
def test_a_command_explains_itself_with_an_example(howdah: Howdah, path: tuple[str, ...]) -> None:
    ran = howdah(*path, "--help")
    assert ran.status == 0
    if path not in (("jobs",), ("kinds",), ("queues",), ("workers",)):
        assert f"howdah {' '.join(path)}" in ran.out.split("Options:")[0].partition("\n")[2]
        for option in ("--dsn", "--output"):
            assert option in ran.out


def test_age_says_of_what_moment_it_is(howdah: Howdah) -> None:
    for verb in ("list", "cancel", "requeue", "tail"):
        assert "Enqueued before that" in howdah("jobs", verb, "--help").out


@pytest.mark.parametrize("group", ["jobs", "kinds", "queues", "workers"])
def test_a_mistyped_verb_is_answered_with_the_nearest(howdah: Howdah, group: str) -> None:
    ran = howdah(group, "lsit")
    assert (ran.status, "did you mean 'list'" in ran.err) == (2, True)


def test_no_help_imports_what_only_the_work_needs() -> None:
    """All of them in one process: an import by any of them would be seen."""
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom howdah.cli import main\n"
        f"for path in {paths()!r}:\n    assert CliRunner().invoke(main, [*path, '--help']).exit_code == 0\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_help_takes_hardly_longer_than_click_does() -> None:
    def seconds(*arguments: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - began

    bare, ours = [], []
    for _ in range(5):  # in turn, since the machine may be busy with something else for a while
        bare.append(seconds("-c", "import click"))
        ours.append(seconds("-m", "howdah", "jobs", "cancel", "--help"))
    assert statistics.median(ours) < 2 * statistics.median(bare) + 0.1

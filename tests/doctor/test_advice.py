"""A command that is advised can be typed as it stands."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import howdah
from howdah.cli import main
from howdah.cli.main import COMMANDS

SOURCES = Path(howdah.__file__).parent
# To where a sentence or a shell goes on with something else.
COMMAND = re.compile(rf"howdah (?:{'|'.join(COMMANDS)})(?: (?:(?!or |and |to |says )[^\s;,|()]+))*")
ADVISERS = ("diagnosis", "model", "store", "migrations", "cli/main.py", "cli/job_page.py")


def texts(tree: ast.AST) -> Iterator[str]:
    """The texts of a module, with 1 where a value is filled in."""
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = docstrings | {
        part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "1" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.value


def advised() -> set[str]:
    places = [SOURCES / place for place in ADVISERS]
    files = [file for place in places for file in ([place] if place.suffix else place.rglob("*.py"))]
    said = (text for file in files for text in texts(ast.parse(file.read_text())))
    return {command.rstrip(".:'") for text in said for command in COMMAND.findall(text)}


@pytest.mark.parametrize("command", sorted(advised()))
def test_it_is_one_that_there_is(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(self: click.Command, ctx: click.Context) -> Any:
        return None

    monkeypatch.setattr(click.Command, "invoke", nothing)
    ran = CliRunner().invoke(main, shlex.split(command)[1:], env={"HOWDAH_LISTEN_DSN": ""})
    assert ran.exit_code == 0, ran.output


def test_the_advice_is_found() -> None:
    assert {"howdah sweep", "howdah jobs resolve 1 --as completed --note TEXT", "howdah queues resume 1"} <= advised()

"""Modules and functions stay small enough to be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
SOURCES = sorted((TOP / "src" / "howdah").rglob("*.py"))
LINES, FUNCTION_LINES = 300, 40


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(TOP / "src")))
def test_a_module_and_its_functions_are_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= LINES
    long = [
        f"{node.name}: {length}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert long == []

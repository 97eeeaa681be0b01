"""Programs as users write them, held against the types: some must pass, in others every marked line is refused."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(Path(__file__).with_name("programs").glob("*_*.py"))
ERROR = re.compile(r"# error: (\w+)$")
PYRIGHT = {"include": ["programs"], "typeCheckingMode": "strict", "pythonVersion": "3.11"}
MYPY_LINE = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): error: (?P<message>.*)")


def marked(program):
    """The lines that are to be refused, each with pyright's rule."""
    lines = enumerate(program.read_text().splitlines(), 1)
    return {number: found[1] for number, line in lines if (found := ERROR.search(line))}


@pytest.fixture(scope="module")
def pyright(tmp_path_factory):
    """What pyright says: file name → line → the rules and messages. One run for all, since it starts slowly."""
    beside = str(Path(sys.executable).parent)
    command = next(filter(None, (shutil.which(name, path=beside) for name in ("pyright", "basedpyright"))), None)
    if command is None:
        pytest.skip("no pyright beside this Python")
    # A project of their own: the checkout's leaves out what is to be refused.
    project = tmp_path_factory.mktemp("pyright")
    shutil.copytree(PROGRAMS[0].parent, project / "programs")
    (project / "pyrightconfig.json").write_text(json.dumps(PYRIGHT | {"extraPaths": [str(ROOT / "src")]}))
    arguments = ["--pythonpath", sys.executable, "--outputjson"]
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        [command, *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["summary"]["filesAnalyzed"] == len(PROGRAMS)
    found = {}
    for each in answer["generalDiagnostics"]:
        if each["severity"] == "error":
            lines = found.setdefault(Path(each["file"]).name, {})
            lines.setdefault(each["range"]["start"]["line"] + 1, {})[each.get("rule")] = each["message"]
    return found


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """What `mypy --strict` says: file name → line → the message."""
    arguments = ["--strict", "--config-file=", "--no-error-summary", "--hide-error-codes", "--no-pretty"]
    cache = f"--cache-dir={tmp_path_factory.mktemp('mypy')}"
    command = [sys.executable, "-m", "mypy", *arguments, cache, *map(str, PROGRAMS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = {}
    for line in done.stdout.splitlines():
        if each := MYPY_LINE.fullmatch(line):
            found.setdefault(Path(each["file"]).name, {})[int(each["line"])] = each["message"]
    return found


def ids(program):
    return program.stem


@pytest.mark.parametrize("program", PROGRAMS, ids=ids)
def test_pyright_refuses_the_marked_lines_and_no_others(program, pyright):
    expected, found = marked(program), pyright.get(program.name, {})
    assert {line: problems for line, problems in found.items() if line not in expected} == {}
    assert {line: rule for line, rule in expected.items() if rule not in found.get(line, ())} == {}


@pytest.mark.parametrize("program", PROGRAMS, ids=ids)
def test_mypy_refuses_the_marked_lines_and_no_others(program, mypy):
    expected, found = marked(program), mypy.get(program.name, {})
    assert {line: problem for line, problem in found.items() if line not in expected} == {}
    assert set(expected) <= set(found)


def test_what_is_to_be_refused_is_marked_and_only_there():
    for program in PROGRAMS:
        assert bool(marked(program)) == program.name.startswith("refuse_"), program.name
    assert len(PROGRAMS) >= 12

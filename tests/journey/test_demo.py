"""The demo as a newcomer runs it, on a small folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from howdah.demo import files
from howdah.demo.check import check_story
from tests.journey.conftest import HOWDAH, howdah


def test_the_demo_shows_all_that_it_is_there_for_and_its_check_holds(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "secret").write_text("no")
    (tmp_path / "below").mkdir()
    for n in range(12):
        (tmp_path / "below" / f"file {n}\n.txt").write_bytes(bytes([n, 10]) * n)
    shown = howdah("unused", "demo", str(tmp_path), timeout=100)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "each of 12 files has exactly one row" in shown.stdout
    for line in ("kill -9", "leases rescued", "unknown", "superseded      4", "discarded       1", "jobs/s", "durable"):
        assert line in shown.stdout


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    refused = subprocess.run([*HOWDAH, "demo", str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (refused.returncode, "no files" in refused.stderr) == (1, True)


def test_hidden_folders_links_and_names_that_json_cannot_say_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "b").write_text("2")
    Path(str(tmp_path) + "/\udcff").write_text("3")
    assert files.find(tmp_path) == (tmp_path, ["a"])
    assert files.measure(tmp_path / "a") == files.Facts(2, 1, files.hashlib.sha256(b"1\n").hexdigest())


@pytest.mark.parametrize(
    ("told", "problems"),
    [((1, 1, 1, 4, 1), 0), ((0, 1, 1, 4, 1), 1), ((1, 0, 0, 0, 0), 4)],
)
def test_a_demo_that_shows_too_little_has_failed(told: tuple[int, int, int, int, int], problems: int) -> None:
    assert len(check_story(*told)) == problems

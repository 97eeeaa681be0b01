"""Which folders `howdah dev` watches, and that it sees a change."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from howdah.app.reload import folders_of, watching


def test_it_watches_the_folder_we_stand_in_and_packages_that_are_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for package in (here / "mine", there / "theirs" / "deep", there / "site-packages"):
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    (there / "theirs" / "__init__.py").write_text("raise SystemExit('imported')")
    (there / "site-packages" / "single.py").touch()
    monkeypatch.syspath_prepend(str(there))
    monkeypatch.syspath_prepend(str(there / "site-packages"))
    modules = ["mine.jobs", "theirs.deep:worker", "theirs", "single", "no.such"]
    assert folders_of(modules, here) == [here, (there / "theirs").resolve()]


def test_a_python_file_that_changes_is_seen_and_another_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "env" / "lib").mkdir(parents=True)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    for folder in (".venv", ".cache", "node_modules"):
        (tmp_path / folder).mkdir()
    seen = threading.Event()
    with watching([tmp_path], seen.set):
        # The thread may not watch yet: write until it does.
        for _ in range(50):
            (tmp_path / "notes.txt").write_text("x")
            for folder in (".venv", ".cache", "node_modules", "env/lib"):
                (tmp_path / folder / "library.py").write_text("x")
            if seen.wait(0.02):
                break
        assert not seen.is_set()
        for n in range(100):
            (tmp_path / "jobs.py").write_text(str(n))
            if seen.wait(1.0):
                break
        assert seen.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name == "howdah-reload"]

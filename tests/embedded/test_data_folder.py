from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from howdah.embedded import EmbeddedServer, NotADataFolder, OtherMajorVersion, UnreachableFolder, UntrustedFolder
from tests.embedded.conftest import as_root


@as_root
@pytest.mark.parametrize("mode", [0o700, 0o744])
def test_a_folder_that_the_server_cannot_reach_is_refused_and_nothing_is_changed(folder: Path, mode: int) -> None:
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(mode)
    with pytest.raises(UnreachableFolder, match="chmod o\\+x") as refused:
        EmbeddedServer(closed / "below" / "data").start()
    assert refused.value.blocked_by == closed
    assert refused.value.account == "nobody"
    assert list(closed.iterdir()) == []
    assert stat.S_IMODE(closed.stat().st_mode) == mode


@as_root
def test_a_link_does_not_hide_a_closed_folder(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(0o700)
    (folder / "open").symlink_to(closed)
    with pytest.raises(UnreachableFolder):
        EmbeddedServer(folder / "open" / "data").start()


@as_root
def test_a_folder_of_somebody_else_is_refused_and_keeps_its_owner(folder: Path) -> None:
    (folder / "mine").mkdir()
    with pytest.raises(UntrustedFolder, match="belongs to uid 0, and must belong to nobody alone"):
        EmbeddedServer(folder / "mine").start()
    assert (folder / "mine").stat().st_uid == 0


def test_a_folder_with_something_else_is_refused_and_kept(folder: Path) -> None:
    thesis = own_folder(folder) / "thesis"
    thesis.touch()
    with pytest.raises(NotADataFolder, match="holds something else"):
        EmbeddedServer(thesis.parent).start()
    assert thesis.exists()


def test_a_file_is_refused(folder: Path) -> None:
    (folder / "data").touch()
    with pytest.raises(NotADataFolder, match="is not a folder"):
        EmbeddedServer(folder / "data").start()


def test_an_empty_folder_of_the_server_is_used(folder: Path) -> None:
    data = own_folder(folder)
    with EmbeddedServer(data, durable=False):
        assert (data / "PG_VERSION").exists()
    assert list(folder.iterdir()) == [data]


def test_data_of_another_major_version_is_refused(folder: Path) -> None:
    (own_folder(folder) / "PG_VERSION").write_text("9\n")
    with pytest.raises(OtherMajorVersion, match="written by PostgreSQL 9") as refused:
        EmbeddedServer(folder / "data").start()
    assert refused.value.written_by == "9"


def test_data_made_by_others_has_no_password_for_tcp(folder: Path) -> None:
    with EmbeddedServer(folder / "data", durable=False):
        (folder / "data" / "howdah-password").unlink()
    with pytest.raises(NotADataFolder, match="password"):
        EmbeddedServer(folder / "data", tcp=True).start()


def test_a_strict_umask_does_not_close_the_folders_that_we_make(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        with EmbeddedServer(folder / "a" / "b" / "data", durable=False):
            pass
    finally:
        os.umask(before)


def own_folder(folder: Path) -> Path:
    """Make a folder that belongs to the server."""
    data = folder / "data"
    data.mkdir(0o700)
    if os.geteuid() == 0:
        os.chown(data, 65534, 65534)
    return data

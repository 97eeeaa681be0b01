"""The PostgreSQL of `howdah dev`: kept in a folder of the project, at an address that stays the same."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from howdah.embedded import EmbeddedServer, data_folder
from howdah.embedded.account import Account
from howdah.model.errors import HowdahError

FOLDER = ".howdah"
PREDECESSOR_ENDS = 30.0  # seconds: the server of a killed `dev` shuts down by itself
_LONGEST_SOCKET_FOLDER = 85  # bytes: with the socket's name it must have less than 104 on macOS, 108 on Linux


@dataclass(frozen=True, slots=True)
class Kept:
    """A running server: its `dsn`, PostgreSQL's `version`, and the `pid` of the process that owns it."""

    dsn: str
    version: str
    pid: int


class RunsAlready(HowdahError):
    """Another process keeps a server in this folder. Attributes: `folder`, and `running`, None while it starts."""

    def __init__(self, folder: Path, running: Kept | None) -> None:
        self.folder = folder
        self.running = running
        advice = (
            f" (pid {running.pid}). Use its database: export HOWDAH_DSN='{running.dsn}'; "
            "for another worker there: howdah worker -m MODULE"
            if running
            else ", and is just starting: wait for it"
        )
        super().__init__(f"howdah dev runs in {folder.parent} already{advice}")


@contextmanager
def kept_server(project: Path) -> Iterator[Kept]:
    """Run the server of a project's folder; its data stays there. Raises RunsAlready, and EmbeddedError."""
    folder = project.resolve() / FOLDER
    _make(folder)
    with (folder / "running.json").open("a+", encoding="utf-8") as note:
        # The lock ends with its owner, by whatever death.
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunsAlready(folder, _read(folder / "running.json")) from None
        note.truncate(0)
        data = folder / "data"
        _wait_for_predecessor(data)
        sockets = _new_socket_folder(folder)
        with EmbeddedServer(data, settings=_listening(sockets)) as server:
            dsn = (
                f"postgresql://{data_folder.SUPERUSER}@/postgres?host={quote(str(sockets))}" if sockets else server.dsn
            )
            kept = Kept(dsn, server.version, os.getpid())
            note.write(json.dumps(asdict(kept)))
            note.flush()
            yield kept


def _make(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        folder.chmod(0o755)  # a strict umask would close it to the account of the server
        ignore.write_text("*\n")


def _read(note: Path) -> Kept | None:
    try:
        return Kept(**json.loads(note.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _wait_for_predecessor(data: Path) -> None:
    """Return when no server has the data, or after too long a time: then starting says so."""
    deadline = time.monotonic() + PREDECESSOR_ENDS
    while data_folder.live_server(data) is not None and time.monotonic() < deadline:
        time.sleep(0.05)


def _new_socket_folder(folder: Path) -> Path | None:
    """Where the server listens, anew: what a killed one left there would refuse another. None if that cannot be."""
    place = folder / "run"
    if len(os.fsencode(place)) > _LONGEST_SOCKET_FOLDER or '"' in str(place):
        return None
    if data_folder.live_server(folder / "data") is not None:
        return None
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.mkdir(mode=0o700)
    except OSError:  # another account's: starting says so
        return None
    Account.for_server().take(place)
    return place


def _listening(sockets: Path | None) -> dict[str, str]:
    return {"unix_socket_directories": f'"{sockets}"'} if sockets else {}

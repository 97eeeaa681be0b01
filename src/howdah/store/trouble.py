"""The driver's errors that say something about Howdah, in its own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool

from howdah.migrations.steps import SCHEMA_VERSION
from howdah.model.errors import SchemaMismatch, Unreachable

_NO_SCHEMA = (
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedColumn,
)
# The server is going down, coming up, or full; everything else with a SQLSTATE was an answer.
_PASSING = {"40", "53", "55", "57", "58"}
# Terminated, shut down, starting, its database dropped, and the ends that a role's settings put to idle sessions.
_AWAY = {"57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04", "53300"}
_READ_ONLY = "25006"


@contextmanager
def schema_errors() -> Iterator[None]:
    """A missing or older schema is SchemaMismatch; any other error is the caller's, on the caller's connection."""
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "orig", error), _NO_SCHEMA):
            raise SchemaMismatch(None, SCHEMA_VERSION) from error
        raise


@contextmanager
def own_errors() -> Iterator[None]:
    """As `schema_errors`; and a connection of ours that cannot be had, broke, or takes no writes is Unreachable."""
    try:
        with schema_errors():
            yield
    except (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed, psycopg_pool.TooManyRequests) as error:
        raise Unreachable(f"no connection to PostgreSQL: {error}") from error
    except Exception as error:
        cause = getattr(error, "orig", error)  # SQLAlchemy's errors have the driver's inside
        if is_read_only(cause):
            raise Unreachable(
                "this PostgreSQL takes no writes: a standby, a primary that was demoted, or read-only by its settings; "
                f"name all hosts in the DSN, and the one that takes writes is used ({one_line(cause)})"
            ) from error
        if is_lost(cause):
            raise Unreachable(f"cannot reach PostgreSQL: {cause}") from error
        if f"{type(error).__module__}.{type(error).__name__}" == "sqlalchemy.exc.TimeoutError":
            raise Unreachable(f"no connection to PostgreSQL: {error}") from error
        raise


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more, so that the outcome of the last statement may be unknown.

    It is gone, or leads to a node that takes no writes: another connection may find the primary.
    """
    if not isinstance(error, psycopg.Error):
        return False
    state = error.sqlstate
    if state is None:
        return isinstance(error, psycopg.OperationalError)
    return state in _AWAY or state.startswith("08") or is_read_only(error)


def is_read_only(error: BaseException) -> bool:
    """Whether the node takes no writes."""
    return isinstance(error, psycopg.Error) and error.sqlstate == _READ_ONLY


def is_transient(error: psycopg.Error) -> bool:
    """Whether the statement may go through later: the server is away, full or read-only, or a lock was taken."""
    state = error.sqlstate or ""
    return is_lost(error) or state[:2] in _PASSING


def one_line(error: BaseException) -> str:
    """What it says, for a log."""
    return " ".join(str(error).split())

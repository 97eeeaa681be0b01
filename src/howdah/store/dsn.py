"""Where PostgreSQL is: libpq text, a URL, or SQLAlchemy's `postgresql+psycopg://`."""

from __future__ import annotations

import os
import re

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from howdah.model.errors import InvalidOption

CONNECT_TIMEOUT = 10
# A peer that has vanished is noticed within about 15 s, idle or in a query; libpq ignores these on a Unix socket.
LIVENESS = {"keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3, "tcp_user_timeout": 15_000}

HOW = "write postgresql://user@host:5432/database, or host=… dbname=… user=…"

# At the start only: in libpq text a password may hold a ://
_URL = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def resolve(dsn: str | None) -> str:
    """The conninfo of a DSN, or of HOWDAH_DSN for None. Of several hosts, that is the one that takes writes.

    Raises InvalidOption, which never shows a password.
    """
    dsn = dsn or os.environ.get("HOWDAH_DSN")
    if not dsn:
        raise InvalidOption("dsn", None, "say where PostgreSQL is: a DSN, or the environment variable HOWDAH_DSN")
    url = _URL.match(dsn)
    if url:
        scheme = url[1].lower()
        base, _, driver = scheme.partition("+")
        if base not in ("postgresql", "postgres"):
            raise InvalidOption("dsn", f"{scheme}://…", "is not PostgreSQL: use postgresql://…")
        if driver not in ("", "psycopg"):
            raise InvalidOption("dsn", f"{scheme}://…", f"Howdah speaks psycopg, not {driver}: use {base}+psycopg://…")
        dsn = f"{base}://{dsn[url.end() :]}"
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        raise InvalidOption("dsn", None, f"cannot be read{_without_values(str(error))}: {HOW}") from None
    for port in filter(None, str(given.get("port") or "").split(",")):
        if not port.isdecimal() or not 0 < int(port) < 65_536:
            raise InvalidOption("dsn", None, f"a port is a number from 1 to 65535: {HOW}")
    given.setdefault("connect_timeout", CONNECT_TIMEOUT)
    given.setdefault("application_name", "howdah")
    given.setdefault("client_encoding", "UTF8")  # whatever the role's is: with SQL_ASCII the driver gives bytes
    if "," in str(given.get("host") or given.get("hostaddr") or ""):
        given.setdefault("target_session_attrs", "read-write")
    for name, value in LIVENESS.items():
        given.setdefault(name, value)
    return make_conninfo("", **given)


def for_working(dsn: str | None) -> str:
    """As `resolve`, for a worker, which is of no use on a standby: connecting to one fails, instead of each write."""
    given = conninfo_to_dict(resolve(dsn))
    given.setdefault("target_session_attrs", "read-write")
    return make_conninfo("", **given)


def for_listening(conninfo: str) -> str:
    """The conninfo to listen on: HOWDAH_LISTEN_DSN's, where `conninfo` leads through a pooler, else the same."""
    dsn = os.environ.get("HOWDAH_LISTEN_DSN")
    return for_working(dsn) if dsn else conninfo


def may_prepare(*, pooled: bool) -> bool:
    """Whether our connections prepare statements: HOWDAH_PREPARED says `on` or `off`, else not through a pooler.

    A pooler in transaction mode gives each transaction another backend, which knows no statement of the last one.
    """
    said = os.environ.get("HOWDAH_PREPARED", "")
    if said not in ("", "on", "off"):
        raise InvalidOption("HOWDAH_PREPARED", said, "is on or off; without it Howdah finds out by itself")
    return said == "on" or (said == "" and not pooled)


def _without_values(message: str) -> str:
    """What libpq says, up to the first value, where that is more than half a sentence."""
    said = message.split('"')[0].strip(" :")
    return f" ({said})" if said.startswith("invalid") else ""


def sqlalchemy_url(dsn: str | None) -> str:
    """The URL by which SQLAlchemy connects where `resolve` would: everything is in the query, so any conninfo fits."""
    from sqlalchemy import URL

    given = {name: str(value) for name, value in conninfo_to_dict(resolve(dsn)).items()}
    return URL.create("postgresql+psycopg", query=given).render_as_string(hide_password=False)

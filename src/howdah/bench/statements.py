"""For `--profile`: where PostgreSQL spent its time, by pg_stat_statements."""

from __future__ import annotations

from pathlib import Path

import msgspec
import psycopg
from psycopg.rows import dict_row

from howdah.bench.place import Database

TOP = """
SELECT query, calls, rows, total_exec_time AS total_ms, mean_exec_time AS mean_ms, wal_bytes::bigint AS wal_bytes,
    shared_blks_hit AS buffers_hit, shared_blks_read AS buffers_read
FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY total_exec_time DESC LIMIT 30
"""


def keep(database: Database, folder: Path) -> None:
    """Write the statements of this database that took longest, where the server counts them."""
    try:
        database.watch.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        found = database.watch.cursor(row_factory=dict_row).execute(TOP).fetchall()
    except psycopg.Error:
        return  # it is not installed there, not loaded, or not ours to read
    file = folder / f"statements-{database.watch.info.dbname}.json"
    file.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))

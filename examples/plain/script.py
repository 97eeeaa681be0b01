"""Store documents, have their words counted by workers, and print the counts.

cd examples
export HOWDAH_DSN=postgresql://localhost/shop
howdah migrate
howdah worker -m plain.jobs -q documents:10 &
python -m plain.script *.md
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psycopg

from howdah import Client
from plain.jobs import count_words

TABLE = "CREATE TABLE IF NOT EXISTS documents (path text PRIMARY KEY, text text NOT NULL, words integer)"
STORE = """
    INSERT INTO documents (path, text) VALUES (%s, %s)
    ON CONFLICT (path) DO UPDATE SET text = excluded.text, words = NULL
"""


def main(paths: list[str]) -> None:
    """The documents and their jobs are one commit; then wait for each job's result."""
    with psycopg.connect(os.environ["HOWDAH_DSN"]) as connection:  # commits as it is left
        connection.execute(TABLE)
        connection.cursor().executemany(STORE, [(path, Path(path).read_text()) for path in paths])
        jobs = count_words.enqueue_many(connection, [{"path": path} for path in paths])
    with Client() as client:
        for path, enqueued in zip(paths, jobs, strict=True):
            job = client.wait(enqueued.id, timeout=60)
            print(f"{job.state} {path}: {job.result} words")


if __name__ == "__main__":
    main(sys.argv[1:])

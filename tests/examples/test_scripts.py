"""The examples without a framework: a psycopg script, and a trigger."""

from __future__ import annotations

import psycopg

from tests.examples.conftest import EXAMPLES, Run
from tests.support.held import background


def test_the_script_waits_for_what_workers_count(run: Run, cloned_dsn: str) -> None:
    path = "trigger/schema.sql"
    script = background(lambda: run("plain.script", path, dsn=cloned_dsn))
    while not script.done:  # a drain that comes too early finds nothing
        run("howdah", "drain", "-m", "plain.jobs", "-q", "documents:2")
    words = len((EXAMPLES / path).read_text().split())
    assert script.result() == f"completed {path}: {words} words\n"
    with psycopg.connect(cloned_dsn) as connection:
        assert connection.execute("SELECT path, words FROM documents").fetchall() == [(path, words)]


def test_what_a_trigger_enqueues_is_indexed(run: Run, cloned_dsn: str) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as connection:
        connection.execute((EXAMPLES / "trigger" / "schema.sql").read_text())
        connection.execute("INSERT INTO articles (title, body) VALUES ('Elephants', 'carry a howdah')")
        connection.execute("UPDATE articles SET body = 'carry a seat'")
        run("howdah", "drain", "-m", "trigger.jobs", "-q", "search:4")
        words = connection.execute("SELECT word FROM search_words ORDER BY word").fetchall()
        states = connection.execute("SELECT state FROM howdah.all_jobs ORDER BY id").fetchall()
    assert [word for (word,) in words] == ["a", "carry", "elephants", "seat"]
    assert states == [("superseded",), ("completed",)]

"""An enqueue that supersedes, in a database where nobody has swept for weeks."""

from __future__ import annotations

import psycopg

from howdah import Client, JobState


def test_an_enqueue_that_supersedes_makes_the_missing_day(cloned_dsn: str) -> None:
    with Client(cloned_dsn) as client, psycopg.connect(cloned_dsn, autocommit=True) as conn:
        old = client.enqueue("x", {}, subject="s")
        conn.execute(
            "CREATE OR REPLACE FUNCTION howdah.clock() RETURNS timestamptz LANGUAGE sql VOLATILE"
            " AS $$SELECT clock_timestamp() + interval '60 days'$$"
        )
        with conn.transaction():
            new = client.enqueue("x", {}, subject="s", on=conn)
        assert (client.get(old.id).state, client.get(old.id).superseded_by) == (JobState.SUPERSEDED, new.id)

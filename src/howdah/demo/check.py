"""Did the promises hold? Computed apart from the jobs: other code, other reading, straight from the files."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import psycopg

from howdah.demo import ledger


def check_files(watch: psycopg.Connection, root: Path, paths: list[str]) -> list[str]:
    """What is wrong: every file must have exactly one row, with its size, lines and hash."""
    rows = watch.execute("SELECT path, size, lines, sha256 FROM demo_files").fetchall()
    counts = Counter(path for path, *_ in rows)
    found = {path: facts for path, *facts in rows}
    problems = [f"{path} has {counts[path]} rows" for path in paths if counts[path] != 1]
    problems += [f"{path} was never asked for" for path in counts.keys() - set(paths)]
    for path in paths:
        content = (root / path).read_bytes()
        facts = [len(content), len(content.split(b"\n")) - 1, hashlib.sha256(content).hexdigest()]
        if path in found and found[path] != facts:
            problems.append(f"{path} is {facts}, its row says {found[path]}")
    return problems


def check_parcels(parcels: Iterable[int]) -> list[str]:
    """What is wrong: every parcel must have left exactly once."""
    left = Counter(ledger.read())
    return [f"parcel {parcel} left {left[parcel]} times" for parcel in parcels if left[parcel] != 1]


def check_ends(watch: psycopg.Connection) -> list[str]:
    """What has not ended, and the last that was heard of it."""
    rows = watch.execute(
        "SELECT id, kind, state, attempt, errors -> -1 ->> 'message' FROM howdah.jobs ORDER BY id LIMIT 10"
    ).fetchall()
    return [f"job {job_id} ({kind}) is still {state}, attempt {n}: {said}" for job_id, kind, state, n, said in rows]


def check_story(killed: int, unknown: int, resolved: int, superseded: int, discarded: int) -> list[str]:
    """What the demo is there to show and did not."""
    told = {
        "no worker was killed": killed > 0,
        "no job became unknown": unknown > 0,
        "an unknown job was not resolved": resolved >= 1,
        "the older revisions were not superseded": superseded > 0,
        "the poison job was not discarded": discarded == 1,
    }
    return [problem for problem, held in told.items() if not held]

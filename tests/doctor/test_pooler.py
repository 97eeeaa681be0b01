"""A pooler in the way of wake-ups: through a PgBouncer where one is installed."""

from __future__ import annotations

import pytest

from howdah.diagnosis import Finding, Severity
from howdah.store.diagnosis import diagnose
from tests.support.pgbouncer import PGBOUNCER, pgbouncer

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="no pgbouncer is installed here")


def _pooler(dsn: str, listen_dsn: str | None = None) -> Finding:
    """What is said of a pooler; of the rest, nothing."""
    findings = {f.id: f for f in diagnose(dsn, listen_dsn=listen_dsn) if f.id != "durability"}
    found = findings.pop("pooler")
    assert {f.severity for f in findings.values()} == {Severity.OK}
    return found


def test_a_pooler_that_shares_connections(dsn: str) -> None:
    with pgbouncer(dsn, "transaction") as pooled:
        found = _pooler(pooled)
        assert (found.severity, "HOWDAH_LISTEN_DSN" in found.advice) == (Severity.WARNING, True)
        assert _pooler(pooled, listen_dsn=dsn).severity is Severity.NOTE
        deaf = _pooler(dsn, listen_dsn=pooled)
        assert (deaf.severity, "--listen-dsn" in deaf.title) == (Severity.WARNING, True)


def test_a_pooler_that_keeps_sessions(dsn: str) -> None:
    with pgbouncer(dsn, "session") as pooled:
        found = _pooler(pooled)
        assert (found.severity, "keeps sessions" in found.title) == (Severity.NOTE, True)


def test_no_pooler(dsn: str) -> None:
    assert _pooler(dsn).severity is Severity.OK
    assert _pooler(dsn, listen_dsn=dsn).severity is Severity.OK

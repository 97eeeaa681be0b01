"""Findings about the schema: its version, its tables, and what a role may do with them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from howdah.diagnosis import Severity, exit_status
from howdah.diagnosis.schema_rules import STORAGE
from howdah.migrations import grants_of
from howdah.store.diagnosis import diagnose
from tests.doctor.conftest import ask, only
from tests.support.roles import apply, login


@pytest.fixture
def roles(own: psycopg.Connection[Any]) -> str:
    apply(own.info.dsn)
    return own.info.dsn


def test_no_schema(fresh_dsn: str) -> None:
    findings = diagnose(fresh_dsn)
    assert [finding.id for finding in findings] == ["reachable", "schema-version"]
    assert (findings[1].advice, exit_status(findings)) == ("howdah migrate", 3)


def test_a_newer_schema(own: psycopg.Connection[Any]) -> None:
    own.execute("INSERT INTO howdah.schema_version (version, via, package_version) VALUES (99, 'x', 'x')")
    findings = diagnose(own.info.dsn)
    assert (findings[1].facts["found"], "pip install" in findings[1].advice, exit_status(findings)) == (99, True, 3)


def test_the_next_releases_schema_is_a_note_and_the_rest_is_looked_at(own: psycopg.Connection[Any]) -> None:
    own.execute(
        "INSERT INTO howdah.schema_version (version, via, package_version)"
        " SELECT max(version) + 1, 'x', 'x' FROM howdah.schema_version"
    )
    findings = diagnose(own.info.dsn)
    assert (findings[1].id, findings[1].severity) == ("schema-version", Severity.NOTE)
    assert len(findings) > 2


@pytest.mark.parametrize(
    ("role", "title"),
    [("howdah_producer", "may enqueue, not run jobs"), ("howdah_reader", "may only read"), ("howdah_worker", "")],
)
def test_what_a_role_may(role: str, title: str, roles: str) -> None:
    with login(roles, role) as dsn:
        said = {finding.id: finding for finding in diagnose(dsn)}
    grants = said["grants"]
    assert grants.severity <= Severity.NOTE
    assert title in grants.title
    unchecked = {finding.id for finding in said.values() if finding.title.startswith("not checked")}
    assert unchecked == (set() if role != "howdah_producer" else unchecked)
    assert all(finding.severity <= Severity.NOTE for finding in said.values() if finding.id != "durability")


def test_who_may_nothing_is_told_what_to_ask_for(roles: str) -> None:
    with login(roles) as dsn:
        (_, version) = diagnose(dsn)
    assert "permission denied" in version.title
    assert exit_status([version]) == 1  # not 3: a probe would migrate
    assert "howdah migrate --roles" in version.advice


@pytest.mark.parametrize("grant", grants_of("howdah_worker"), ids=str)
def test_each_right_that_a_worker_lacks_is_named(
    grant: Any, own: psycopg.Connection[Any], roles: str, request: pytest.FixtureRequest
) -> None:
    if grant.object in ("howdah", "howdah.schema_version", "howdah.clock", "howdah.ring"):
        pytest.skip("without these nothing can be read, or everybody has them")
    kind = grant.type.upper() if grant.type in ("sequence", "function") else ""
    own.execute(f"REVOKE {grant.privilege} ON {kind} {grant.object} FROM howdah_worker".encode())
    with login(roles, "howdah_worker") as dsn:
        found = ask(dsn)["grants"][0]
    assert found.severity is Severity.PROBLEM
    assert str(grant) in found.facts["missing"]


def test_a_role_that_may_only_call_enqueue(own: psycopg.Connection[Any], roles: str) -> None:
    with login(roles) as dsn:
        user = psycopg.conninfo.conninfo_to_dict(dsn)["user"]
        own.execute(f"GRANT USAGE ON SCHEMA howdah TO {user}; GRANT SELECT ON howdah.schema_version TO {user};"
                    f"GRANT EXECUTE ON FUNCTION howdah.enqueue TO {user}".encode())  # fmt: skip
        found = ask(dsn)["grants"][0]
    assert (found.severity, "enqueueing from Python" in found.title) == (Severity.WARNING, True)


def test_days_that_are_missing_or_past(own: psycopg.Connection[Any]) -> None:
    own.execute("SELECT howdah.ensure_partition('2001-01-01')")
    assert only(ask(own.info.dsn), "partitions", Severity.NOTE).facts["oldest"] == "2001-01-01"
    own.execute("DROP TABLE howdah.history_20010101")
    tomorrow = own.execute(
        "SELECT to_char(howdah.clock() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD')"
    ).fetchone()
    assert tomorrow
    own.execute(f"DROP TABLE howdah.history_{tomorrow[0]}".encode())
    found = only(ask(own.info.dsn), "partitions", Severity.WARNING)
    assert [day.replace("-", "") for day in found.facts["missing"]] == [tomorrow[0]]


def test_the_storage_options_are_those_of_the_schema(conn: psycopg.Connection[Any]) -> None:
    found = conn.execute(
        """
        SELECT relname, reloptions FROM pg_class
        WHERE relnamespace = 'howdah'::regnamespace AND relkind = 'r' AND reloptions IS NOT NULL AND NOT relispartition
        """
    )
    assert {name: set(options) for name, options in found} == STORAGE


def test_autovacuum_off_for_a_table_and_changed_options(own: psycopg.Connection[Any]) -> None:
    own.execute("ALTER TABLE howdah.jobs SET (autovacuum_vacuum_threshold = 50, fillfactor = 100)")
    found = only(ask(own.info.dsn), "autovacuum", Severity.NOTE)
    own.execute(found.advice.encode())
    assert ask(own.info.dsn) == {}
    own.execute("ALTER TABLE howdah.jobs SET (autovacuum_enabled = off)")
    found = only(ask(own.info.dsn), "autovacuum", Severity.PROBLEM)
    own.execute(found.advice.encode())
    assert ask(own.info.dsn) == {}


def test_dead_rows_and_bloated_indexes(own: psycopg.Connection[Any]) -> None:
    own.execute("ALTER TABLE howdah.jobs SET (autovacuum_enabled = off)")
    own.execute("INSERT INTO howdah.jobs (kind) SELECT 'k' FROM generate_series(1, 20000)")
    own.execute("DELETE FROM howdah.jobs")
    own.execute("SELECT pg_stat_force_next_flush()")
    own.execute("SELECT 1")
    limits = {"dead_rows": 10_000, "bloat_bytes": 200_000}
    found = ask(own.info.dsn, **limits)["dead-rows"][0]
    assert (found.severity, found.facts["dead"]) == (Severity.WARNING, 20_000)
    own.execute(found.advice.split("then: ")[1].encode())
    own.execute("ALTER TABLE howdah.jobs RESET (autovacuum_enabled)")
    bloated = ask(own.info.dsn, **limits)
    assert list(bloated) == ["index-bloat"]
    assert {finding.facts["index"] for finding in bloated["index-bloat"]} >= {"jobs_pkey", "jobs_claim"}
    for finding in bloated["index-bloat"]:
        own.execute(finding.advice.encode())
    assert ask(own.info.dsn, **limits) == {}

"""What the schema, its tables and this role's rights on them say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from howdah.diagnosis.finding import Finding, Severity, sized, sql_name
from howdah.diagnosis.limits import Limits

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]

# As the schema sets them; a test holds this against the database.
STORAGE = {
    "jobs": {
        "fillfactor=50",
        "autovacuum_vacuum_scale_factor=0.02",
        "autovacuum_vacuum_threshold=2000",
        "autovacuum_vacuum_insert_scale_factor=0.1",
        "autovacuum_analyze_scale_factor=0.1",
        "autovacuum_analyze_threshold=5000",
        "autovacuum_vacuum_cost_delay=1",
        "vacuum_truncate=false",
    },
    "workers": {"fillfactor=50"},
    "sweeps": {"fillfactor=50"},
}
ENTRY = 100  # bytes that an index entry with our names may need, half-empty pages included
SMALLEST = 2 * 8192


def version(found: int | None, needed: int) -> Finding:
    """Whether the schema is this release's, or the next one's, on which this release runs too."""
    if found == needed:
        return Finding("schema-version", Severity.OK, f"the schema is at version {found}, as it should be")
    facts = {"found": found, "needed": needed}
    if found is None or found < needed:
        what = "is missing" if found is None else f"is at version {found}, this release needs {needed}"
        return Finding("schema-version", Severity.PROBLEM, f"the schema {what}", "howdah migrate", facts)
    title = f"the schema is at version {found}, this release is made for {needed}"
    severity = Severity.NOTE if found == needed + 1 else Severity.PROBLEM
    return Finding("schema-version", severity, title, "pip install --upgrade howdah", facts)


def grants(rows: Rows, limits: Limits) -> list[Finding]:
    """What this role may not do, of what a worker needs. Who is only meant to enqueue or to read has a note."""
    enqueueing = [row for row in rows if row["role"] == "producer"]
    beyond = [row for row in rows if row["what"] not in {row["what"] for row in enqueueing}]
    missing = {row["what"] for row in rows if row["role"] == "worker" and not row["granted"]}
    unqueued = [row["what"] for row in enqueueing if not row["granted"]]
    user, advice = (
        rows[0]["username"],
        "As the owner of the schema: howdah migrate --roles | psql, then GRANT {} TO {};",
    )
    if not missing:
        return []
    severity, lacks, role = Severity.PROBLEM, sorted(missing), "howdah_worker"
    title = f"role {user} lacks {len(missing)} of the rights that a worker needs"
    if not any(row["granted"] and row["writes"] for row in rows):
        severity, lacks, title = Severity.NOTE, [], f"role {user} may only read"
    elif not any(row["granted"] and row["writes"] for row in beyond):
        severity, lacks, title = Severity.NOTE, [], f"role {user} may enqueue, not run jobs"
        if unqueued:
            severity, lacks, role = Severity.WARNING, unqueued, "howdah_producer"
            title = f"role {user} lacks {len(unqueued)} of the rights that enqueueing from Python needs"
    return [Finding("grants", severity, title, advice.format(role, sql_name(user)), {"role": user, "missing": lacks})]


def partitions(rows: Rows, limits: Limits) -> list[Finding]:
    """Days of history that are missing, or past their time."""
    found = rows[0]
    findings = []
    if found["missing"]:
        days = ", ".join(str(day) for day in found["missing"])
        findings.append(
            Finding(
                "partitions",
                Severity.WARNING,
                f"history has no partition for {days}",
                "Workers make them 14 days ahead as they start and sweep; without one run: howdah sweep",
                {"missing": [str(day) for day in found["missing"]]},
            )
        )
    if found["oldest_days"] is not None and found["oldest_days"] * 86_400 > limits.retention + 2 * 86_400:
        findings.append(
            Finding(
                "partitions",
                Severity.NOTE,
                f"history goes back {found['oldest_days']} days, further than the retention known here",
                "Fine if a worker's retention says so. Otherwise nobody prunes: howdah sweep, and see what it logs.",
                {"oldest": str(found["oldest"]), "days": found["oldest_days"]},
            )
        )
    return findings


def autovacuum(rows: Rows, limits: Limits) -> list[Finding]:
    """Whether vacuum runs at all, and as the schema wants it."""
    findings = []
    off = [name for name in ("autovacuum", "track_counts") if rows and rows[0][name] == "off"]
    if off:
        title = f"{' and '.join(off)} off: dead rows stay, and every claim gets slower"
        advice = " ".join(f"ALTER SYSTEM SET {name} = on;" for name in off) + " SELECT pg_reload_conf();"
        findings.append(Finding("autovacuum", Severity.PROBLEM, title, advice))
    for row in rows:
        options = set(row["options"] or [])
        table = f"howdah.{row['name']}"
        if "autovacuum_enabled=false" in options or "autovacuum_enabled=off" in options:
            title, advice = f"autovacuum is off for {table}", f"ALTER TABLE {table} RESET (autovacuum_enabled);"
            findings.append(Finding("autovacuum", Severity.PROBLEM, title, advice))
        elif changed := sorted(STORAGE.get(row["name"], set()) - options):
            title = f"the storage options of {table} are not those of the schema"
            advice = f"ALTER TABLE {table} SET ({', '.join(changed)});"
            findings.append(Finding("autovacuum", Severity.NOTE, title, advice, {"options": sorted(options)}))
    return findings


def dead_rows(rows: Rows, limits: Limits) -> list[Finding]:
    """Tables where vacuum does not keep up."""
    return [
        Finding(
            "dead-rows",
            Severity.WARNING,
            f"howdah.{row['name']} has {row['dead']:,} dead rows beside {row['live']:,} live ones",
            f"See what holds vacuum back (finding horizon), then: VACUUM howdah.{row['name']};",
            {"table": row["name"], "dead": row["dead"], "live": row["live"], "last_autovacuum": row["last_autovacuum"]},
        )
        for row in rows
        if (row["dead"] or 0) >= limits.dead_rows and row["dead"] > limits.dead_share * (row["live"] or 0)
    ]


def index_bloat(rows: Rows, limits: Limits) -> list[Finding]:
    """Indexes that are many times as large as their entries need."""
    return [
        Finding(
            "index-bloat",
            Severity.WARNING,
            f"index howdah.{row['name']} has {sized(row['bytes'])} for {row['entries']:,.0f} entries",
            f"REINDEX INDEX CONCURRENTLY howdah.{row['name']};",
            {"index": row["name"], "bytes": row["bytes"], "entries": row["entries"]},
        )
        for row in rows
        if row["bytes"] >= limits.bloat_bytes
        and row["bytes"] > limits.bloat_factor * (SMALLEST + ENTRY * row["entries"])
    ]

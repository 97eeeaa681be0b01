"""Every check: which facts it wants, what judges them, and what is said where there is nothing to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from howdah.diagnosis import schema_rules, server_rules, work_rules
from howdah.diagnosis.finding import Finding, Severity
from howdah.diagnosis.limits import Limits

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Rule: TypeAlias = Callable[[Rows, Limits], list[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """`facts` names what is read for it; `healthy` is the title when the rule finds nothing."""

    id: str
    facts: str
    rule: Rule
    healthy: str

    def judge(self, rows: Rows, limits: Limits) -> list[Finding]:
        """What there is to say, at least that all is well."""
        return self.rule(rows, limits) or [Finding(self.id, Severity.OK, self.healthy)]

    def unchecked(self, why: str, *, forbidden: bool) -> Finding:
        """What is said where the facts could not be read; `forbidden`: since this role may not."""
        advice = "Run it as a member of howdah_worker or howdah_reader: see howdah migrate --roles"
        return Finding(self.id, Severity.NOTE, f"not checked: {why}", advice if forbidden else "Run it again later.")


CHECKS: tuple[Check, ...] = (
    Check("read-only", "server", server_rules.read_only, "the server takes writes"),
    Check("durability", "server", server_rules.durability, "commits survive a crash of the machine"),
    Check("clock", "clock", server_rules.clock, "this machine's clock and the database's agree"),
    Check("pooler", "pooler", server_rules.pooler, "no pooler is in the way of wake-ups"),
    Check("connections", "server", server_rules.connections, "there is room for more connections"),
    Check("wraparound", "server", server_rules.wraparound, "transaction ids are frozen in time"),
    Check("grants", "grants", schema_rules.grants, "this role has all a worker needs"),
    Check("partitions", "partitions", schema_rules.partitions, "history has its days"),
    Check(
        "autovacuum", "tables", schema_rules.autovacuum, "autovacuum is on, with the settings that came with the schema"
    ),
    Check("dead-rows", "tables", schema_rules.dead_rows, "vacuum keeps up"),
    Check("index-bloat", "indexes", schema_rules.index_bloat, "indexes are as large as they need to be"),
    Check("horizon", "horizon", server_rules.horizon, "no old transaction holds vacuum back"),
    Check("sweeps", "sweeps", work_rules.sweeps, "no living worker neglects the sweep"),
    Check("expired-leases", "leases", work_rules.expired_leases, "every lease that ran out has been settled"),
    Check("overdue-jobs", "overdue", work_rules.overdue_jobs, "scheduled jobs become available when they are due"),
    Check("unserved-queues", "queues", work_rules.unserved_queues, "no queue has waited a minute unserved"),
    Check("paused-queues", "queues", work_rules.paused_queues, "no queue with work is paused for long"),
    Check(
        "unknown-kinds",
        "kinds",
        work_rules.unknown_kinds,
        "no job has waited a minute for a handler that no worker has",
    ),
    Check("lost-workers", "workers", work_rules.lost_workers, "every worker on the list is alive"),
    Check("stuck-slots", "workers", work_rules.stuck_slots, "no handler runs on after its lease or its time"),
    Check("loops", "loops", work_rules.loops, "no job is given back or put off again and again"),
    Check("unknown-jobs", "parked", work_rules.unknown_jobs, "no job waits for a person"),
)

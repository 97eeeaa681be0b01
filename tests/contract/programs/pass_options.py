"""The options of an enqueue."""

from datetime import UTC, datetime, timedelta
from typing import assert_type

from howdah import Client, NewJob, Options, job


@job
def report(month: str) -> None: ...


common: Options = {"queue": "reports", "priority": 10, "tags": ["monthly"]}

later = report.options(**common).options(
    run_at=datetime(2030, 1, 1, tzinfo=UTC),
    expires_in=timedelta(days=1),
    max_attempts=3,
    key="2030-01",
    key_for=3600,
    subject="reports",
    headers={"traceparent": "00-0"},
)
assert_type(later.new("2030-01"), NewJob)
assert_type(report.options(delay=1.5).new(month="2030-01"), NewJob)


def by_name(client: Client) -> NewJob:
    return client.new("report", {"month": "2030-01"}, **common)

"""Options that do not exist, or of another type."""

from typing import Any

from howdah import Client, Retry, job


@job(retries=3)  # error: reportCallIssue
def one() -> None: ...


@job(retry=3)  # error: reportArgumentType
def two() -> None: ...


@job(on_crash="explode")  # error: reportArgumentType
def three() -> None: ...


@job("mail")  # error: reportArgumentType
def four() -> None: ...


@job
def five(month: str) -> None: ...


def wrong(client: Client, anything: Any) -> None:
    five.options(prioriti=3)  # error: reportCallIssue
    five.options(priority="high")  # error: reportArgumentType
    five.options(tags=3)  # error: reportArgumentType
    five.options(run_at="tomorrow")  # error: reportArgumentType
    client.enqueue("five", {}, dely=3)  # error: reportCallIssue
    client.enqueue("five", {}, key=3)  # error: reportArgumentType
    Retry(attempts=3)  # error: reportCallIssue
    Retry().max_attempts = anything  # error: reportAttributeAccessIssue

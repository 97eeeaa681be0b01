"""Looking after jobs, and the facts that errors carry."""

from collections.abc import Mapping
from datetime import datetime
from typing import assert_type

from howdah import (
    AttemptError,
    Client,
    HowdahError,
    InvalidArgs,
    InvalidOption,
    InvalidTransition,
    Job,
    JobNotFound,
    JobState,
    SchemaMismatch,
    Unreachable,
)


def look_after(client: Client, job_id: int) -> Job | None:
    try:
        found = client.get(job_id)
        if found.state is JobState.UNKNOWN:
            return client.resolve(job_id, "completed", "the provider has it")
        if found.state is JobState.DISCARDED:
            return client.requeue(job_id)
        return client.wait(job_id, timeout=5) if found.finished_at is None else client.cancel(job_id)
    except InvalidTransition as error:
        print(error.job_id, error.state, error.event)
    except JobNotFound as error:
        print(error.job_id)
    return None


def show(found: Job) -> None:
    assert_type(found.run_at, datetime)
    assert_type(found.superseded_by, int | None)
    for error in found.errors:
        assert_type(error, AttemptError)
        print(error.attempt, error.event, error.type, error.message, error.traceback)


def queues(client: Client) -> None:
    client.pause("mail")
    client.resume("mail")
    assert_type(client.sweep(), Mapping[str, int])


def facts(error: HowdahError) -> None:
    match error:
        case InvalidArgs():
            print(error.kind, error.field)
        case InvalidOption():
            print(error.name, error.value)
        case SchemaMismatch() | Unreachable():
            print("the database")
        case _:
            raise error


as_value_error: ValueError = InvalidArgs.__new__(InvalidArgs)
as_connection_error: ConnectionError = Unreachable()

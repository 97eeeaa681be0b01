"""The options of an enqueue, checked at the door."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from howdah.model.errors import InvalidOption
from howdah.model.job import NewJob
from howdah.model.options import Options, checked, new_job

ALL = {
    "queue": "mail",
    "priority": -5,
    "delay": timedelta(minutes=1),
    "expires_in": 30,
    "max_attempts": 3,
    "key": "welcome:42",
    "key_for": 3600,
    "subject": "user:42",
    "headers": {"trace": "abc"},
    "tags": ["a", "b"],
}


def test_without_options_a_job_has_the_defaults_and_its_kinds_queue():
    job = new_job("send_mail", '{"to":"a"}', "mail", {})
    assert job == NewJob("send_mail", '{"to":"a"}', fallback_queue="mail")
    assert job.queue is None
    assert job.priority == 0


def test_every_option_arrives_as_the_database_takes_it():
    job = new_job("send_mail", "{}", "default", ALL)
    assert (job.queue, job.priority, job.max_attempts) == ("mail", -5, 3)
    assert (job.delay, job.expires_in, job.key_for) == (60.0, 30.0, 3600.0)
    assert (job.key, job.subject) == ("welcome:42", "user:42")
    assert json.loads(job.headers) == {"trace": "abc"}
    assert job.tags == ("a", "b")


def test_every_option_but_the_later_ones_has_been_tried_here():
    assert set(Options.__annotations__) == set(ALL) | {"run_at", "lane"}


def test_none_means_not_said():
    assert checked(dict.fromkeys(Options.__annotations__)) == {}


def test_run_at_keeps_its_moment():
    moment = datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert checked({"run_at": moment})["run_at"] == datetime(2030, 1, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "name", "problem"),
    [
        ({"prioriti": 1}, "prioriti", "did you mean 'priority'?"),
        ({"zzz": 1}, "zzz", "is not an option"),
        ({"queue": ""}, "queue", "empty"),
        ({"priority": 32_768}, "priority", "from -32768 to 32767"),
        ({"priority": -32_769}, "priority", "from -32768 to 32767"),
        ({"priority": 1.5}, "priority", "whole number"),
        ({"delay": -1}, "delay", "at least 0"),
        ({"delay": "1 minute"}, "delay", "seconds"),
        ({"delay": float("nan")}, "delay", "finite"),
        ({"run_at": datetime(2030, 1, 1)}, "run_at", "needs a time zone"),  # noqa: DTZ001
        ({"run_at": "2030-01-01T00:00:00Z"}, "run_at", "datetime"),
        ({"delay": 1, "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, "run_at", "not both"),
        ({"expires_in": -1}, "expires_in", "at least 0"),
        ({"max_attempts": 0}, "max_attempts", "from 1 to 32767"),
        ({"max_attempts": 32_768}, "max_attempts", "from 1 to 32767"),
        ({"max_attempts": True}, "max_attempts", "whole number"),
        ({"key": 42}, "key", "text"),
        ({"key": "x" * 201}, "key", "at most 200 bytes"),
        ({"key_for": 60}, "key_for", "needs a key"),
        ({"key": None, "key_for": 60}, "key_for", "needs a key"),
        ({"subject": "\0"}, "subject", "NUL"),
        ({"lane": "customer:1"}, "lane", "later release"),
        ({"headers": "a=b"}, "headers", "mapping"),
        ({"headers": {"a": 1}}, "headers", "'a' must be text"),
        ({"headers": {1: "a"}}, "headers", "text"),
        ({"headers": {"a": "\0"}}, "headers", "NUL"),
        ({"headers": {"a": "x" * 20_000}}, "headers", "over the limit of 16384"),
        ({"tags": "abc"}, "tags", "list of names"),
        ({"tags": [""]}, "tags", "empty"),
        ({"tags": ["a"] * 101}, "tags", "at most 100, these are 101"),
    ],
)
def test_an_option_out_of_its_range_is_refused_by_name(options, name, problem):
    with pytest.raises(InvalidOption) as refused:
        new_job("send_mail", "{}", "default", options)
    assert refused.value.name == name
    assert problem in str(refused.value)


def test_a_bad_kind_is_refused():
    with pytest.raises(InvalidOption, match="kind="):
        new_job("", "{}", "default", {})


def test_the_bounds_belong_to_their_ranges():
    assert checked({"priority": 32_767, "max_attempts": 32_767, "delay": 0})["priority"] == 32_767
    assert checked({"priority": -32_768, "max_attempts": 1})["priority"] == -32_768


@pytest.mark.parametrize(
    ("day", "hours"), [((1, 1, 1), 0), ((1, 1, 1), 12), ((1, 1, 2), 1), ((9999, 12, 31), 0), ((9999, 12, 31), -12)]
)
def test_a_moment_that_not_every_time_zone_can_say_is_refused(day: tuple[int, int, int], hours: int) -> None:
    """Or a client in another zone could not read the job, nor a list that it is in."""
    with pytest.raises(InvalidOption, match="years 1 to 9999"):
        checked({"run_at": datetime(*day, tzinfo=timezone(timedelta(hours=hours)))})

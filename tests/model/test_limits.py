"""The bounds of names, durations, leases and whole numbers."""

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.model.errors import InvalidOption
from howdah.model.limits import (
    MAX_DURATION,
    MAX_LEASE,
    MAX_NAME,
    check_lease,
    check_name,
    check_seconds,
    check_whole,
)


@pytest.mark.parametrize("name", ["a", "mail.send", "Ünïcode 🐘", " ", "x" * MAX_NAME, "é" * (MAX_NAME // 2)])
def test_a_name_is_given_back_as_it_was(name):
    assert check_name("queue", name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "empty"),
        (None, "text"),
        (3, "text"),
        (b"mail", "text"),
        ("a\0b", "NUL"),
        ("\ud800", "lone surrogate"),
        ("x" * (MAX_NAME + 1), f"at most {MAX_NAME} bytes of UTF-8, this has {MAX_NAME + 1}"),
        ("é" * (MAX_NAME // 2 + 1), f"at most {MAX_NAME} bytes"),
    ],
)
def test_another_name_is_refused_and_the_error_names_the_option(name, problem):
    with pytest.raises(InvalidOption, match=problem) as refused:
        check_name("queue", name)
    assert refused.value.name == "queue"
    assert refused.value.value == name
    assert isinstance(refused.value, ValueError)


@given(st.text())
def test_a_name_that_passes_can_be_stored(name):
    try:
        check_name("queue", name)
    except InvalidOption:
        return
    assert 1 <= len(name.encode()) <= MAX_NAME
    assert "\0" not in name


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(0, 0.0), (1, 1.0), (2.5, 2.5), (timedelta(minutes=1), 60.0), (timedelta(0), 0.0), (MAX_DURATION, MAX_DURATION)],
)
def test_a_duration_is_seconds(value, seconds):
    result = check_seconds("delay", value)
    assert result == seconds
    assert type(result) is float


@pytest.mark.parametrize(
    "value",
    [
        -1,
        -1e-9,
        timedelta(seconds=-1),
        math.nan,
        math.inf,
        -math.inf,
        10**400,
        MAX_DURATION + 1,
        timedelta.max,
        True,
        "60",
        None,
        [1],
    ],
)
def test_another_duration_is_refused(value):
    with pytest.raises(InvalidOption, match="delay="):
        check_seconds("delay", value)


@pytest.mark.parametrize("value", [0.001, 60, MAX_LEASE, timedelta(hours=24)])
def test_a_lease_is_more_than_nothing_and_at_most_a_day(value):
    assert 0 < check_lease(value) <= 24 * 3600


@pytest.mark.parametrize("value", [0, 0.0, -0.0, timedelta(0), -1, MAX_LEASE + 1, timedelta(hours=25), math.inf, "60"])
def test_another_lease_is_refused(value):
    with pytest.raises(InvalidOption) as refused:
        check_lease(value)
    assert refused.value.name == "lease"


@given(st.integers(), st.integers(-100, 0), st.integers(0, 100))
def test_a_whole_number_is_within_its_bounds_which_belong_to_them(value, low, high):
    if low <= value <= high:
        assert check_whole("priority", value, low, high) == value
    else:
        with pytest.raises(InvalidOption, match=f"from {low} to {high}"):
            check_whole("priority", value, low, high)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_what_is_no_int_is_no_whole_number(value):
    with pytest.raises(InvalidOption, match="whole number"):
        check_whole("priority", value, 0, 5)


def test_a_long_value_is_shortened_in_the_message():
    with pytest.raises(InvalidOption) as refused:
        check_name("key", "x" * 100_000)
    assert len(str(refused.value)) < 300

"""When a failed attempt is tried again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.model.errors import InvalidOption
from howdah.model.retry import Retry, backoff, used_up

retries = st.builds(
    Retry,
    max_attempts=st.integers(1, 32_767),
    base=st.floats(0, 1e6),
    factor=st.floats(1, 1000),
    cap=st.floats(0, 1e6),
    jitter=st.floats(0, 1),
)
attempts = st.integers(1, 100_000)


def test_the_default_backoff_doubles_from_five_seconds_to_an_hour():
    delays = [backoff(Retry(), attempt, 0) for attempt in range(1, 13)]
    assert delays == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]


@given(retries, attempts)
def test_the_backoff_never_falls_and_never_passes_the_cap(retry, attempt):
    here, after = backoff(retry, attempt, 0), backoff(retry, attempt + 1, 0)
    assert 0 <= here <= after <= retry.cap
    assert math.isfinite(after)


@given(retries, attempts, st.integers(0, 1000))
def test_excused_attempts_do_not_lengthen_the_backoff(retry, attempt, excused):
    assert backoff(retry, attempt + excused, excused) == backoff(retry, attempt, 0)


def test_an_attempt_that_is_all_excused_has_the_first_delay():
    assert backoff(Retry(base=7), 3, 3) == 7


@given(retries)
def test_the_first_delay_is_the_base_or_the_cap(retry):
    assert backoff(retry, 1, 0) == min(retry.base, retry.cap)


@pytest.mark.parametrize(
    ("attempt", "excused", "max_attempts", "over"),
    [(1, 0, 1, True), (1, 1, 1, False), (2, 1, 1, True), (9, 0, 10, False), (10, 0, 10, True), (11, 0, 10, True)],
)
def test_the_cap_counts_attempts_that_are_not_excused(attempt, excused, max_attempts, over):
    assert used_up(attempt, excused, max_attempts) is over


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_attempts", 0),
        ("max_attempts", 32_768),
        ("max_attempts", 1.5),
        ("max_attempts", True),
        ("max_attempts", "3"),
        ("base", -1),
        ("base", math.nan),
        ("base", math.inf),
        ("base", "5"),
        ("factor", 0.99),
        ("factor", 1001),
        ("cap", -1),
        ("cap", math.inf),
        ("jitter", -0.1),
        ("jitter", 1.1),
        ("jitter", None),
    ],
)
def test_a_retry_out_of_its_range_is_refused_by_name(name, value):
    with pytest.raises(InvalidOption) as refused:
        Retry(**{name: value})
    assert refused.value.name == name


def test_a_retry_is_frozen():
    with pytest.raises(AttributeError):
        Retry().max_attempts = 3


def test_a_cap_below_the_base_wins():
    assert backoff(Retry(base=100, cap=10), 1, 0) == 10

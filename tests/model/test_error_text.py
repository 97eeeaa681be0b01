"""Recording a failure never fails because of the failure's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.model.error_text import MAX_MESSAGE, MAX_TRACEBACK, MAX_TYPE, clean, describe, head, tail


def raised(error):
    try:
        raise error
    except BaseException as caught:
        return caught


any_text = st.text(st.characters())  # surrogates and NUL too


@given(any_text)
def test_clean_text_can_always_be_stored_and_keeps_its_length(text):
    cleaned = clean(text)
    cleaned.encode()
    assert "\0" not in cleaned
    assert len(cleaned) == len(text)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_good_text_is_left_alone(text):
    assert clean(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 50))
def test_head_and_tail_cut_at_a_character(text, limit):
    assert text.startswith(head(text, limit))
    assert text.endswith(tail(text, limit))
    assert len(head(text, limit).encode()) <= limit
    assert len(tail(text, limit).encode()) <= limit
    if len(text.encode()) <= limit:
        assert head(text, limit) == tail(text, limit) == text


def test_an_error_is_its_type_its_message_and_where_it_was_raised():
    kind, message, traceback = describe(raised(ValueError("no such user")))
    assert (kind, message) == ("ValueError", "no such user")
    assert "in raised" in traceback


def test_a_text_is_its_own_message():
    assert describe("no such user") == ("Error", "no such user", None)


def test_an_error_never_raised_has_no_traceback():
    assert describe(ValueError("x")) == ("ValueError", "x", None)


def test_the_message_is_kept_from_the_front_and_the_traceback_from_the_end():
    def deep(levels):
        if levels:
            deep(levels - 1)
        raise ValueError("begin" + "é" * 10_000)

    def other(levels):
        return other2(levels)

    def other2(levels):
        return deep(3) if not levels else other(levels - 1)

    with pytest.raises(ValueError, match="begin") as caught:
        other(300)
    _, message, traceback = describe(caught.value)
    assert message.startswith("begin")
    assert len(message.encode()) <= MAX_MESSAGE
    assert MAX_TRACEBACK - 4 < len(traceback.encode()) <= MAX_TRACEBACK
    assert traceback.rstrip().endswith('raise ValueError("begin" + "é" * 10_000)')


def test_locals_are_not_kept():
    def leaks():
        password = "hunter2"
        raise ValueError(len(password))

    with pytest.raises(ValueError) as caught:
        leaks()
    assert "hunter2" not in describe(caught.value)[2].replace('password = "hunter2"', "")


@pytest.mark.parametrize("broken", [ValueError("inner"), RecursionError(), UnicodeError()])
def test_an_error_whose_text_cannot_be_made_is_recorded_by_its_type(broken):
    class Unspeakable(Exception):
        def __str__(self):
            raise broken

    kind, message, _ = describe(raised(Unspeakable()))
    assert kind.endswith("Unspeakable")
    assert type(broken).__name__ in message


def test_an_error_whose_text_is_no_text_is_recorded_too():
    class Odd(Exception):
        def __str__(self):
            return 3

    assert "TypeError" in describe(Odd())[1]


@given(any_text)
def test_whatever_an_error_says_can_be_stored_within_the_limits(text):
    name = type(clean(text).replace("\0", "") or "E", (Exception,), {})
    for part, limit in zip(describe(raised(name(text * 100))), (MAX_TYPE, MAX_MESSAGE, MAX_TRACEBACK), strict=True):
        assert len(part.encode()) <= limit
        assert "\0" not in part

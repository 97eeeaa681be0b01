"""What `@job` takes, and what it refuses."""

import functools
from datetime import timedelta

import pytest

from howdah.client.kind import Kind, job
from howdah.model.errors import InvalidOption
from howdah.model.job import Policy
from howdah.model.retry import Retry
from tests.client.handler_modules import Context


@job
def a_kind(): ...


def test_a_functions_own_attributes_do_not_get_in_the_way():
    def handler(): ...

    handler.name, handler.policy = "other", None
    assert job(handler).name == "handler"
    assert job(handler).policy == Policy("handler")


def test_with_and_without_parentheses_it_is_the_same():
    def handler(): ...

    assert job(handler).policy == job()(handler).policy == Policy("handler")
    assert isinstance(job(handler), Kind)
    assert isinstance(job()(handler), Kind)


def test_the_policy_is_what_was_said():
    @job(
        kind="a.b",
        queue="mail",
        retry=Retry(5, 1.0, 3.0, 60.0, 0.0),
        lease=timedelta(minutes=2),
        on_crash="discard",
        on_supersede="finish",
        on_discard=a_kind,
        on_unknown="reconcile",
    )
    def handler(): ...

    assert handler.policy == Policy(
        "a.b", "mail", 5, 1.0, 3.0, 60.0, 0.0, 120.0, "discard", "finish", "a_kind", "reconcile"
    )
    assert handler.name == "a.b"


def test_work_that_must_not_be_repeated_has_one_attempt_unless_said_otherwise():
    assert job(on_crash="unknown")(len_of).policy.max_attempts == 1
    assert job(on_crash="unknown", retry=Retry())(len_of).policy.max_attempts == 10
    assert job(on_crash="discard")(len_of).policy.max_attempts == 10


def len_of(x: str): ...


@pytest.mark.parametrize(
    ("options", "name", "problem"),
    [
        ({"kind": ""}, "kind", "empty"),
        ({"kind": 3}, "kind", "text"),
        ({"queue": "x" * 201}, "queue", "at most 200"),
        ({"queue": None}, "queue", "text"),
        ({"retry": 5}, "retry", "must be a Retry"),
        ({"lease": 0}, "lease", "more than 0"),
        ({"lease": timedelta(days=2)}, "lease", "at most 86400"),
        ({"on_crash": "unknwon"}, "on_crash", "did you mean 'unknown'"),
        ({"on_crash": None}, "on_crash", "retry, discard, unknown"),
        ({"on_crash": ["retry"]}, "on_crash", "retry, discard, unknown"),
        ({"on_supersede": "stop"}, "on_supersede", "cancel, finish"),
        ({"on_discard": ""}, "on_discard", "empty"),
        ({"on_discard": len_of}, "on_discard", "text"),
        ({"on_unknown": 3}, "on_unknown", "text"),
        ({"timeout": "30"}, "timeout", "number or a timedelta"),
        ({"timeout": 0}, "timeout", "more than 0"),
        ({"stall_timeout": -1}, "stall_timeout", "at least 0"),
    ],
)
def test_an_option_of_the_kind_is_checked_at_decoration(options, name, problem):
    with pytest.raises(InvalidOption) as refused:
        job(**options)
    assert refused.value.name == name
    assert problem in str(refused.value)


def test_an_unknown_option_of_the_kind_is_a_type_error():
    with pytest.raises(TypeError, match=r"has no option .retries., did you mean .retry."):
        job(retries=3)


def test_a_function_name_that_is_too_long_needs_a_kind():
    def handler(): ...

    handler.__name__ = "x" * 201
    with pytest.raises(InvalidOption, match="kind="):
        job(handler)
    assert job(kind="short")(handler).name == "short"


class Mailer:
    prefix = "re: "

    def send(self, text: str) -> str:
        return self.prefix + text

    @classmethod
    def make(cls, text: str) -> str:
        return cls.prefix + text

    @staticmethod
    def plain(text: str) -> str:
        return text

    @staticmethod
    @job
    def decorated(text: str) -> str:
        return text


def generator():
    yield


async def async_generator():
    yield


def star(*args): ...


def double_star(**kwargs): ...


def misplaced(x: int, ctx: Context): ...


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        (Mailer.send, "is a method"),
        (Mailer.__dict__["make"], "not on"),
        (Mailer.__dict__["make"].__func__, "is a method"),
        (generator, "is a generator"),
        (async_generator, "is a generator"),
        (star, r"\*args"),
        (double_star, r"\*\*kwargs"),
        (misplaced, "Context is the first positional parameter"),
        (a_kind, "is a kind already"),
        ("a_kind", r"@job\(kind=...\)"),
        (Mailer, "not on"),
        (len, "not on"),
        (functools.partial(len_of, "a"), "not on"),
    ],
)
def test_what_cannot_be_a_handler_is_refused_at_decoration(handler, problem):
    for decorate in (job, job(kind="other")):
        with pytest.raises(TypeError, match=problem):
            decorate(handler)


def test_bound_methods_and_functions_in_a_class_work():
    assert job(Mailer().send).by_name(text="a") == "re: a"
    assert job(Mailer().send).new("a").args == '{"text":"a"}'
    assert job(Mailer.make)("a") == "re: a"
    assert job(Mailer.plain).new("a").kind == "plain"
    assert Mailer.decorated.new("a").args == '{"text":"a"}'

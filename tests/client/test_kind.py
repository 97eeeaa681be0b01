"""What a kind can do: be called, enqueued, given to a worker."""

import asyncio
import copy
import inspect
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from types import ModuleType

import pytest

import howdah.client
from howdah.client.kind import job
from howdah.model.errors import InvalidArgs, InvalidOption
from howdah.model.job import NewJob
from tests.client.handler_modules import Context


@job
def send_mail(to: str, text: str = "Hi") -> int:
    """Send one mail."""
    return len(to) + len(text)


@job(kind="objects.delete", queue="objects", on_crash="unknown")
def delete_object(ctx: Context, key: str) -> str:
    return f"{ctx}:{key}"


@job()
async def fetch(url: str) -> str:
    return url.upper()


class FakeTarget:
    """Stands for `howdah.client.target`: keeps what it was given."""

    def __init__(self):
        self.calls = []

    def enqueue(self, on, new):
        self.calls.append((on, new))
        return "the answer"

    def enqueue_many(self, on, jobs):
        assert type(jobs) is list
        self.calls.append((on, jobs))
        return ["the answers"]


@pytest.fixture
def target(monkeypatch):
    fake = FakeTarget()
    module = ModuleType("howdah.client.target")
    module.enqueue, module.enqueue_many = fake.enqueue, fake.enqueue_many
    monkeypatch.setitem(sys.modules, "howdah.client.target", module)
    monkeypatch.setattr(howdah.client, "target", module, raising=False)
    return fake


def test_a_kind_still_calls_its_function():
    assert send_mail("a", text="bc") == 3
    assert delete_object("ctx", "k") == "ctx:k"
    assert asyncio.run(fetch("a")) == "A"


def test_a_kind_looks_like_its_function():
    assert send_mail.__name__ == "send_mail"
    assert send_mail.__qualname__ == "send_mail"
    assert send_mail.__module__ == __name__
    assert send_mail.__doc__ == "Send one mail."
    assert list(inspect.signature(send_mail).parameters) == ["to", "text"]
    assert inspect.unwrap(send_mail) is send_mail.function
    assert repr(send_mail) == f"<Kind 'send_mail': {__name__}.send_mail>"


def test_what_a_worker_asks_of_a_kind():
    assert (send_mail.is_async, fetch.is_async) == (False, True)
    assert (send_mail.takes_context, delete_object.takes_context) == (False, True)
    assert send_mail.decode({"to": "a"}) == {"to": "a"}
    assert send_mail.decode({"to": "a", "x": 1}, drop_unknown=True) == {"to": "a"}
    with pytest.raises(InvalidArgs, match=r"send_mail\.x"):
        send_mail.decode({"to": "a", "x": 1})
    assert delete_object.by_name("ctx", key="k") == "ctx:k"
    send_mail.resolve()


def test_resolution_fails_with_the_parameters_name():
    @job
    def broken(x: "Nowhere"): ...  # noqa: F821

    with pytest.raises(TypeError, match="parameter 'x'"):
        broken.resolve()
    with pytest.raises(TypeError, match="parameter 'x'"):
        broken.new(3)


def test_a_function_may_have_a_parameter_called_self():
    @job
    def handler(self: int, on: str, kind: str, args: list[int], jobs: int):
        return self, on, kind, args, jobs

    kwargs = {"self": 1, "on": "o", "kind": "k", "args": [1], "jobs": 2}
    assert json.loads(handler.new(**kwargs).args) == kwargs
    assert handler(**kwargs) == (1, "o", "k", [1], 2)


def test_enqueue_gives_the_target_a_checked_job_and_returns_its_answer(target):
    assert send_mail.enqueue("on", "a", text="b") == "the answer"
    assert target.calls == [("on", NewJob("send_mail", '{"to":"a","text":"b"}'))]


def test_a_parameter_may_be_called_as_those_of_enqueue(target):
    @job
    def handler(self: int, on: int, target: int): ...

    handler.enqueue("the target", self=1, on=2, target=3)
    assert target.calls == [("the target", NewJob("handler", '{"self":1,"on":2,"target":3}'))]


def test_nothing_reaches_the_target_when_the_args_do_not_fit(target):
    with pytest.raises(InvalidArgs, match=r"send_mail\.to: Expected `str`, got `int`"):
        send_mail.enqueue("on", 3)
    with pytest.raises(InvalidArgs, match=r"send_mail\.to: is missing"):
        send_mail.enqueue_many("on", [{"to": "a"}, {}])
    assert target.calls == []


def test_enqueue_does_not_take_the_context():
    assert delete_object.new("k").args == '{"key":"k"}'
    with pytest.raises(InvalidArgs, match="takes 1 positional"):
        delete_object.new("ctx", "k")
    with pytest.raises(InvalidArgs, match="ctx: is not an argument"):
        delete_object.new("k", ctx="ctx")


def test_a_job_without_a_queue_falls_back_to_its_kinds():
    new = delete_object.new("k")
    assert (new.queue, new.fallback_queue) == (None, "objects")
    assert delete_object.options(queue="other").new("k").queue == "other"


def test_options_belong_to_a_copy_and_add_up():
    urgent = send_mail.options(priority=-5, key="a")
    later = urgent.options(delay=timedelta(minutes=1), priority=-6)
    assert send_mail.new("a") == NewJob("send_mail", '{"to":"a"}')
    assert urgent.new("a") == NewJob("send_mail", '{"to":"a"}', priority=-5, key="a")
    assert later.new("a") == NewJob("send_mail", '{"to":"a"}', priority=-6, key="a", delay=60.0)
    assert later.options(key=None).new("a").key is None
    assert later.name == send_mail.name
    assert later.function is send_mail.function
    assert later("a", "b") == 2


@pytest.mark.parametrize(
    ("options", "name"),
    [({"prio": 1}, "prio"), ({"priority": "high"}, "priority"), ({"lane": "a"}, "lane"), ({"key_for": 1}, "key_for")],
)
def test_options_are_checked_at_once(options, name):
    with pytest.raises(InvalidOption) as refused:
        send_mail.options(**options)
    assert refused.value.name == name


def test_options_are_also_checked_together():
    with pytest.raises(InvalidOption, match="not both"):
        send_mail.options(delay=1).options(run_at=datetime(2030, 1, 1, tzinfo=UTC))


def test_enqueue_many_takes_mappings_and_new_jobs(target):
    ready = send_mail.options(key="k").new("b")
    given = (item for item in [{"to": "a"}, ready])
    assert send_mail.options(priority=3).enqueue_many("on", given) == ["the answers"]
    assert target.calls == [("on", [NewJob("send_mail", '{"to":"a"}', priority=3), ready])]


def test_the_error_of_a_batch_says_which_item_it_was(target):
    with pytest.raises(InvalidArgs) as refused:
        send_mail.enqueue_many("on", [{"to": "a"}, {"to": 3}])
    assert refused.value.__notes__ == ["in jobs[1]"]


@pytest.mark.parametrize("jobs", [["a"], [("a",)], {"to": "a"}, [None]])
def test_another_item_of_a_batch_is_a_type_error(target, jobs):
    with pytest.raises(TypeError, match=r"jobs\[0\] must be a mapping of args or a NewJob"):
        send_mail.enqueue_many("on", jobs)


def test_a_kind_can_be_copied():
    assert copy.copy(send_mail).new("a") == send_mail.new("a")


def test_a_module_of_kinds_needs_no_driver():
    code = (
        "import sys, howdah.client.kind; print([m for m in ('psycopg', 'sqlalchemy', 'pydantic') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_program_that_does_not_use_sqlalchemy_does_not_load_it():
    code = "import sys; from howdah import *; print([m for m in ('sqlalchemy', 'alembic') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"

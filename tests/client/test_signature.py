"""A handler's signature as the schema of its args."""

import functools
import json
from datetime import UTC, datetime

import msgspec
import pytest

from howdah.client.signature import HandlerSignature
from howdah.model.errors import InvalidArgs
from howdah.model.limits import MAX_JSON
from tests.client.handler_modules import Context, module
from tests.client.signatures import decoded, encoded, refused


def test_all_args_together_have_a_limit():
    def handler(a: str, b: str): ...

    half = "x" * (MAX_JSON // 2)
    error = refused(handler, half, half)
    assert error.field is None
    assert "over the limit" in str(error)
    assert len(encoded(handler, half, half[:-20])) <= MAX_JSON


def send_mail(to: str, text: str = "Hi", *, copies: int = 0): ...


def test_only_what_was_passed_is_stored():
    assert encoded(send_mail, "a@example.com") == '{"to":"a@example.com"}'
    assert encoded(send_mail, to="a", copies=0) == '{"to":"a","copies":0}'
    assert encoded(send_mail, "a", "b") == '{"to":"a","text":"b"}'
    assert encoded(lambda: None) == "{}"


@pytest.mark.parametrize(
    ("args", "kwargs", "field", "problem"),
    [
        ((), {}, "to", "is missing"),
        ((), {"text": "b"}, "to", "is missing"),
        (("a", "b", 3), {}, None, "takes 2 positional arguments, 3 were given"),
        (("a",), {"to": "b"}, "to", "given twice"),
        (("a",), {"txet": "b"}, "txet", "did you mean 'text'?"),
        (("a",), {"zzz": "b"}, "zzz", "the arguments are: to, text, copies"),
    ],
)
def test_a_call_that_does_not_fit_is_refused(args, kwargs, field, problem):
    error = refused(send_mail, *args, **kwargs)
    assert error.field == field
    assert problem in str(error)


def test_args_by_name_may_include_positional_only_ones_but_a_call_may_not():
    def handler(a: int, b: int = 2, /, c: int = 3): ...

    signature = HandlerSignature(handler)
    assert signature.encode("kind", {"b": 5, "a": 1}) == '{"b":5,"a":1}'
    assert "positional-only" in str(refused(handler, 1, b=2))


@pytest.mark.parametrize(
    ("args", "expected"),
    [({"a": 1}, (1, 2, 3, 4)), ({"b": 5, "a": 1, "d": 6}, (1, 5, 3, 6)), ({"a": 1, "c": 7}, (1, 2, 7, 4))],
)
@pytest.mark.parametrize("takes_context", [True, False])
def test_a_handler_is_called_by_place_and_by_name_as_it_wants(args, expected, takes_context):
    def plain(a, b=2, /, c=3, *, d=4):
        return a, b, c, d

    def with_context(ctx: Context, a, b=2, /, c=3, *, d=4):
        assert ctx == "the context"
        return a, b, c, d

    signature = HandlerSignature(with_context if takes_context else plain)
    context = ["the context"] if takes_context else []
    assert signature.by_name(*context, **signature.decode("kind", args, drop_unknown=False)) == expected


def test_the_context_may_have_any_name():
    def handler(args: Context, context: str, /, self: int):
        return args, context, self

    signature = HandlerSignature(handler)
    assert signature.takes_context
    assert signature.by_name("the context", context="an arg", self=1) == ("the context", "an arg", 1)


def test_a_parameter_may_be_called_anything():
    def handler(self: int, on: int, kind_name: int, args: int, kwargs: int, drop_unknown: int, name: int): ...

    names = ["self", "on", "kind_name", "args", "kwargs", "drop_unknown", "name"]
    values = dict.fromkeys(names, 1)
    assert json.loads(encoded(handler, **values)) == values
    assert decoded(handler, values) == values


@pytest.mark.parametrize(
    ("args", "field", "problem"),
    [
        ({"to": 3}, "to", "Expected `str`, got `int`"),
        ({"to": None}, "to", "Expected `str`, got `None`|`null`"),
        ({"to": "a", "copies": 1.5}, "copies", "Expected `int`"),
        ({"to": "a", "copies": "1"}, "copies", "Expected `int`"),
        ({"to": "a", "copies": True}, "copies", "Expected `int`, got `bool`"),
        ({"text": "b"}, "to", "is missing"),
        ({"to": "a", "txet": "b"}, "txet", "did you mean 'text'"),
    ],
)
def test_args_from_the_database_are_checked_again(args, field, problem):
    with pytest.raises(InvalidArgs, match=problem) as info:
        decoded(send_mail, args)
    assert info.value.field == field


def test_unknown_args_are_dropped_for_a_landing_but_missing_ones_are_not_invented():
    assert decoded(send_mail, {"to": "a", "size": 3}, drop_unknown=True) == {"to": "a"}
    with pytest.raises(InvalidArgs, match=r"kind\.to: is missing"):
        decoded(send_mail, {"size": 3}, drop_unknown=True)


def test_decoding_adds_no_defaults():
    assert decoded(send_mail, {"to": "a"}) == {"to": "a"}


def test_star_args_are_refused():
    with pytest.raises(TypeError, match=r"\*rest"):
        HandlerSignature(lambda a, *rest: None)
    with pytest.raises(TypeError, match=r"\*\*rest"):
        HandlerSignature(lambda a, **rest: None)


LAZY = """
    from __future__ import annotations
    from typing import TYPE_CHECKING
    if TYPE_CHECKING:
        import howdah
        from howdah import Context
        from elsewhere import Result

    def early(later: Later) -> Result: ...

    def with_context(ctx: Context, x: int): ...

    def with_long_context(ctx: howdah.Context, x: int): ...

    def with_quoted_context(ctx: "Context", x: int): ...

    def misplaced(x: int, ctx: Context): ...

    def unresolvable(x: int, y: Nowhere): ...

    class Later:
        pass
    Later = int
"""


def test_annotations_are_resolved_at_the_first_use():
    lazy = module("lazy", LAZY)
    assert encoded(lazy.early, 3) == '{"later":3}'
    assert refused(lazy.early, "3").field == "later"


def test_a_name_that_is_not_there_is_an_error_that_names_the_parameter():
    signature = HandlerSignature(module("lazy", LAZY).unresolvable)
    for use in (
        signature.resolve,
        lambda: signature.bind_and_encode("kind", (1, 2), {}),
        lambda: signature.decode("kind", {"x": 1, "y": 2}, drop_unknown=False),
    ):
        with pytest.raises(TypeError, match=r"lazy\.unresolvable, parameter 'y': .*'Nowhere'"):
            use()


@pytest.mark.parametrize("name", ["with_context", "with_long_context", "with_quoted_context"])
def test_a_context_imported_for_type_checking_only_is_known_by_its_name(name):
    signature = HandlerSignature(getattr(module("lazy", LAZY), name))
    assert signature.takes_context
    assert signature.bind_and_encode("kind", (3,), {}) == '{"x":3}'


def test_a_misplaced_context_is_refused_also_by_its_name():
    with pytest.raises(TypeError, match="parameter 'ctx': Context is the first positional parameter"):
        HandlerSignature(module("lazy", LAZY).misplaced)


def test_a_context_by_another_name_is_known_by_its_mark():
    lazy = module("lazy", "def handler(c: 'C', x: int): ...", C=Context)
    assert HandlerSignature(lazy.handler).takes_context


def test_another_class_called_context_is_an_ordinary_type():
    class Other(msgspec.Struct):
        a: int

    lazy = module("lazy", "def handler(x: 'Context'): ...", Context=Other)
    signature = HandlerSignature(lazy.handler)
    assert not signature.takes_context
    assert signature.bind_and_encode("kind", (Other(1),), {}) == '{"x":{"a":1}}'


def test_what_turns_out_to_be_another_context_is_refused_at_resolution():
    lazy = module("lazy", "def handler(c: 'Context'): ...")
    signature = HandlerSignature(lazy.handler)
    lazy.Context = int
    with pytest.raises(TypeError, match=r"is not howdah\.Context"):
        signature.resolve()


def test_what_turns_out_to_be_a_context_later_is_refused_at_resolution():
    lazy = module("lazy", "def handler(c: 'Ctx'): ...")
    signature = HandlerSignature(lazy.handler)
    lazy.Ctx = Context
    with pytest.raises(TypeError, match="Context is the first"):
        signature.resolve()


def misplaced_second(x: int, ctx: Context): ...
def misplaced_keyword(*, ctx: Context): ...
def misplaced_twice(ctx: Context, again: Context): ...
def optional(ctx: Context | None): ...
def inside(ctx: list[Context]): ...


@pytest.mark.parametrize(
    "handler", [misplaced_second, misplaced_keyword, misplaced_twice, optional, inside], ids=lambda h: h.__name__
)
def test_a_context_elsewhere_is_refused_at_once(handler):
    with pytest.raises(TypeError, match="Context is the first positional parameter"):
        HandlerSignature(handler)


def test_a_wrapped_handler_has_the_signature_of_what_it_wraps():
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    lazy = module("lazy", "def handler(x: 'OnlyThere'):\n    return x", OnlyThere=datetime)
    signature = HandlerSignature(logged(lazy.handler))
    args = signature.decode("kind", {"x": "2024-01-02T00:00:00Z"}, drop_unknown=False)
    assert signature.by_name(**args) == datetime(2024, 1, 2, tzinfo=UTC)

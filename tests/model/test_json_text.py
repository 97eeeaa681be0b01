"""JSON text that PostgreSQL holds, or a refusal."""

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.model.json_text import MAX_DEPTH, Unstorable, encode
from howdah.model.limits import MAX_JSON

storable_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda x: x != 0 or math.copysign(1, x) > 0
)
storable = st.recursive(
    st.none() | st.booleans() | numbers | storable_text,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(storable_text, inner, max_size=5),
    max_leaves=20,
)


@given(storable)
def test_what_is_encoded_comes_back_the_same(value):
    assert json.loads(encode(value)) == value


@given(storable)
def test_the_text_holds_nothing_that_jsonb_refuses(value):
    text = encode(value)
    text.encode()
    assert "NaN" not in text or "NaN" in repr(value)
    assert "\0" not in text


@dataclass
class Order:
    placed: datetime
    total: Decimal


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ({}, "{}"),
        ((1, 2), "[1,2]"),
        (OrderedDict(a=1), '{"a":1}'),
        (
            Order(datetime(2024, 1, 2, tzinfo=UTC), Decimal("1.10")),
            '{"placed":"2024-01-02T00:00:00Z","total":"1.10"}',
        ),
        (Colour.RED, '"red"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (2**64, "18446744073709551616"),
        ("null", '"null"'),
        ("\\u0000", '"\\\\u0000"'),  # a backslash and some letters: no NUL
        ("-0.0", '"-0.0"'),
        (1e300, "1e300"),
    ],
)
def test_a_value_has_this_text(value, text):
    assert encode(value) == text


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        (math.nan, "$", "nan is not a JSON number"),
        ([1, {"a": math.inf}], "$[1].a", "$[1].a: inf is not a JSON number"),
        ({"a": [None, -math.inf]}, "$.a[1]", "-inf"),
        ("a\0b", "$", "NUL"),
        (["ok", "a\0b"], "$[1]", "NUL"),
        ({"a\0b": 1}, "$", "NUL"),
        (["\ud800"], "$", "lone surrogate"),
        ({"\udfff": 1}, "$", "lone surrogate"),
        (-0.0, "$", "-0.0"),
        (object(), "$", "object"),
        ({(1, 2): 3}, "$", "keys"),
        pytest.param(10**5000, "$", "4300 digits", id="too many digits"),
        (1j, "$", "complex"),
    ],
)
def test_what_cannot_be_held_is_refused_with_its_place(value, path, problem):
    with pytest.raises(Unstorable) as refused:
        encode(value)
    assert refused.value.path == path
    assert problem in str(refused.value)


def test_nan_inside_an_object_is_found():
    @dataclass
    class Reading:
        celsius: float

    with pytest.raises(Unstorable, match=r"\$\[0\]\.celsius"):
        encode([Reading(math.nan)])


def test_an_enc_hook_speaks_for_unknown_objects_and_what_it_says_is_checked_too():
    def hook(value):
        return {"real": value.real}

    assert encode([1 + 2j], enc_hook=hook) == '[{"real":1.0}]'
    with pytest.raises(Unstorable, match="nan"):
        encode([complex(math.nan, 0)], enc_hook=hook)


def nested(levels, around):
    value = 1
    for _ in range(levels):
        value = around(value)
    return value


@pytest.mark.parametrize("around", [lambda v: [v], lambda v: {"a": v}], ids=["lists", "objects"])
@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, MAX_DEPTH + 300, 2_000, 100_000])
def test_deep_nesting_is_refused_and_never_a_crash(around, levels):
    with pytest.raises(Unstorable, match=f"nests deeper than {MAX_DEPTH} levels"):
        encode(nested(levels, around))


def test_nesting_up_to_the_limit_is_fine():
    value = nested(MAX_DEPTH, lambda v: [v])
    assert json.loads(encode(value)) == value


def test_a_value_that_holds_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(Unstorable, match="nests deeper"):
        encode(value)


def test_the_limit_counts_bytes_of_utf8_and_includes_its_last_byte():
    assert len(encode("x" * (MAX_JSON - 2))) == MAX_JSON
    with pytest.raises(Unstorable, match=f"{MAX_JSON + 1} bytes .* limit of {MAX_JSON}"):
        encode("x" * (MAX_JSON - 1))
    with pytest.raises(Unstorable, match="limit of 10"):
        encode("éééééé", limit=10)
    assert encode("éééé", limit=10) == '"éééé"'

"""What types an argument may have, and which values fit them."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.client.signature import HandlerSignature
from howdah.model.errors import InvalidArgs
from howdah.model.limits import MAX_JSON
from tests.client.signatures import decoded, encoded, refused, taking


def there_and_back(hint, value):
    handler = taking(hint)
    return decoded(handler, json.loads(encoded(handler, value)))["x"]


@dataclass
class Line:
    sku: str
    count: int = 1


@dataclass
class Order:
    id: UUID
    lines: list[Line]
    placed: datetime
    parent: Optional["Order"] = None
    notes: dict[str, str] = field(default_factory=dict)


class Point(msgspec.Struct, tag=True):
    x: float
    y: float


class Circle(msgspec.Struct, tag=True):
    radius: float


class Address(pydantic.BaseModel):
    street: str
    number: int
    since: date | None = None


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    at: datetime
    total: Decimal


class Aliased(pydantic.BaseModel):
    unit_price: Decimal = pydantic.Field(alias="unitPrice")

    @pydantic.computed_field
    def doubled(self) -> Decimal:
        return self.unit_price * 2


class Forbidding(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    a: int

    @pydantic.computed_field
    def b(self) -> int:
        return self.a + 1


class Names(pydantic.RootModel[list[str]]): ...


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 1


class Pair(NamedTuple):
    left: int
    right: str


class Movie(TypedDict, total=False):
    name: str
    year: int


UserId = NewType("UserId", int)
NOON = datetime(2024, 2, 29, 12, 30, 1, 5, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (str, "Ünïcode 🐘"),
        (int, 2**70),
        (float, 0.1),
        (bool, True),
        (bytes, b"\0\xff"),
        (None, None),
        (int | None, None),
        (int | None, 3),
        (list[int], [1, 2]),
        (Sequence[int], [1]),
        (tuple[int, str], (1, "a")),
        (set[int], {1, 2}),
        (frozenset[str], frozenset("ab")),
        (dict[str, list[int]], {"a": [1]}),
        (Mapping[str, int], {"a": 1}),
        (dict[int, str], {1: "a"}),
        (dict[UUID, int], {UUID(int=7): 1}),
        (datetime, NOON),
        (datetime, datetime(2024, 1, 1)),  # noqa: DTZ001
        (date, date(2024, 2, 29)),
        (time, time(1, 2, 3)),
        (timedelta, timedelta(days=1, microseconds=5)),
        (UUID, UUID(int=2**100)),
        (Decimal, Decimal("1.10")),
        (Colour, Colour.RED),
        (Level, Level.HIGH),
        (Literal["a", "b"], "b"),
        (Literal["Context"], "Context"),
        (Annotated[int, msgspec.Meta(ge=1)], 1),
        (Annotated[str, "Context"], "a"),
        (UserId, 5),
        (Pair, Pair(1, "a")),
        (Movie, {"name": "Alien"}),
        (Line, Line("a", 2)),
        (Order, Order(UUID(int=1), [Line("a")], NOON, Order(UUID(int=2), [], NOON))),
        (Point | Circle, Circle(2.0)),
        (list[Point], [Point(1.0, 2.5)]),
        (Address, Address(street="Elm", number=3, since=date(2024, 1, 1))),
        (Address | None, None),
        (dict[str, list[Address]], {"a": [Address(street="Elm", number=3)]}),
        (Strict, Strict(at=NOON, total=Decimal("1.10"))),
        (Aliased, Aliased(unitPrice=Decimal("1.5"))),
        (Forbidding, Forbidding(a=1)),
        (Names, Names(["a"])),
        (Any, {"a": [1, 2.5, None, True, "x"]}),
        (object, [1]),
        (dict[str, object], {"a": [1]}),
    ],
)
def test_a_value_of_this_type_comes_back_the_same(hint, value):
    back = there_and_back(hint, value)
    assert back == value
    assert type(back) is type(value)


@given(st.from_type(int) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")) | st.booleans())
def test_strictly_what_an_annotation_says(value):
    for hint in (int, str, bool):
        if type(value) is hint:
            assert there_and_back(hint, value) == value
        else:
            assert refused(taking(hint), value).field == "x"


@pytest.mark.parametrize(
    ("hint", "value", "problem"),
    [
        (int, "3", "Expected `int`, got `str`"),
        (int, 3.0, "Expected `int`, got `float`"),
        (int, True, "Expected `int`, got `bool`"),
        (str, 3, "Expected `str`, got `int`"),
        (str, None, "Expected `str`, got `null`"),
        (list[int], [1, "2"], "$[1]"),
        (Literal["a"], "b", "Invalid enum value"),
        (Colour, "blue", "Invalid enum value"),
        (Annotated[int, msgspec.Meta(ge=1)], 0, ">= 1"),
        (Line, {"sku": "a", "count": "2"}, "$.count"),
        (Line, Line("a", "2"), "$.count"),
        (Line, {}, "missing required field `sku`"),
        (datetime, "yesterday", "datetime"),
        (Address, {"street": "Elm", "number": "three"}, "number: Input should be a valid integer"),
        (list[Address], [{"street": "Elm"}], "number: Field required - at `$[0]`"),
        (float, math.nan, "nan is not a JSON number"),
        (float | None, math.inf, "inf is not a JSON number"),
        (list[float], [0.5, -math.inf], "$[1]"),
        (Point, Point(math.nan, 0.0), "$.x: nan"),
        (str, "a\0b", "NUL"),
        (str, "\ud800", "lone surrogate"),
        (Any, {"\ud800": 1}, "lone surrogate"),
        (Any, object(), "object has no JSON form"),
        (Any, 1j, "complex has no JSON form"),
        pytest.param(str, "x" * MAX_JSON, "over the limit", id="too long"),
    ],
)
def test_another_value_is_refused_and_the_error_names_the_field(hint, value, problem):
    error = refused(taking(hint), value)
    assert error.field == "x"
    assert problem in str(error)
    assert str(error).startswith("kind.x: ")


def test_nan_in_a_model_is_not_stored_as_null():
    class Reading(pydantic.BaseModel):
        celsius: float | None = None

    assert refused(taking(Reading), Reading(celsius=math.nan)).field == "x"


def test_a_number_that_no_json_reader_takes_is_refused():
    assert refused(taking(int), 10**5000).field == "x"


def test_the_error_of_a_model_does_not_show_the_value():
    class Login(pydantic.BaseModel):
        pin: int

    assert "hunter2" not in str(refused(taking(Login), {"pin": "hunter2"}))


def test_whatever_a_validator_raises_is_an_invalid_arg():
    @dataclass
    class Picky:
        a: int

        def __post_init__(self):
            raise KeyError("no such a")

    handler = taking(Picky)
    with pytest.raises(InvalidArgs, match="KeyError"):
        decoded(handler, {"x": {"a": 1}})
    assert "KeyError" in str(refused(handler, {"a": 1}))


def test_an_int_is_a_float():
    assert there_and_back(float, 3) == 3.0


def test_unannotated_parameters_take_any_json():
    def handler(x): ...

    assert decoded(handler, {"x": {"a": [None]}}) == {"x": {"a": [None]}}
    assert encoded(handler, {"a": [None]}) == '{"x":{"a":[null]}}'


@pytest.mark.parametrize(("jsonb", "value"), [(10**22, 1e22), (10**308, 1e308), (1, 1.0)])
def test_a_float_survives_that_jsonb_writes_it_as_a_whole_number(jsonb, value):
    assert decoded(taking(float), {"x": jsonb}) == {"x": value}


def test_a_type_without_json_form_is_refused_with_the_parameters_name():
    class Connection: ...

    for hint in (
        Connection,
        list[Connection],
        Iterable[int],
        dict[str, Connection | None],
        Line | Order,
        Order | Address,
    ):
        with pytest.raises(TypeError, match="parameter 'x': its type cannot be held as JSON"):
            HandlerSignature(taking(hint)).resolve()


def test_a_moment_keeps_its_place_in_time():
    assert there_and_back(datetime, NOON).astimezone(UTC) == NOON.astimezone(UTC)

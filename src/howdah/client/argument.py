"""One argument of a handler: its annotation, and how a value of it goes to JSON and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from howdah.model.json_text import encode


class Argument:
    """A parameter's name and type. Raises TypeError for a type that has no JSON form."""

    __slots__ = ("_decoder", "_is_plain", "hint", "name")

    def __init__(self, name: str, hint: Any) -> None:
        self.name = name
        self.hint = hint
        strangers = sorted({_name(cls) for cls in _strangers(msgspec.inspect.type_info(hint), set())})
        if strangers:
            raise TypeError(f"{', '.join(strangers)} has no JSON form")
        self._decoder = msgspec.json.Decoder(hint, strict=True, dec_hook=_from_json)
        self._is_plain = hint in (str, int, float, bool)

    def encode(self, value: Any) -> str:
        """The JSON text of a value, which has been read back once. Raises ValueError if it does not fit the type."""
        text = encode(value, enc_hook=_to_json)
        try:
            self._decoder.decode(text)
        except Exception as error:  # a model's own validators run here, and may raise anything
            raise ValueError(_problem(error)) from error
        return text

    def convert(self, value: Any) -> Any:
        """The value a handler gets for plain JSON data. Raises ValueError if that does not fit the type."""
        # Most args are plain, and a worker does this for every job: msgspec.convert builds the type anew each time.
        if self.hint is Any or (self._is_plain and type(value) is self.hint):
            return value
        try:
            return msgspec.convert(value, self.hint, strict=True, str_keys=True, dec_hook=_from_json)
        except Exception as error:
            raise ValueError(_problem(error)) from error


def _to_json(value: Any) -> Any:
    # Pydantic models are known by their methods, so that pydantic is never imported. by_alias and round_trip: what is
    # stored must be what `model_validate_json` takes, also where fields have aliases or are computed.
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json", by_alias=True, round_trip=True)
    raise TypeError(f"{_name(type(value))} has no JSON form")


def _from_json(cls: Any, value: Any) -> Any:
    if cls is object:
        return value
    if hasattr(cls, "model_validate_json"):
        # As JSON text, since a strict model takes a datetime or an enum from text, but not from a Python str.
        return cls.model_validate_json(json.dumps(value))
    raise TypeError(f"{_name(cls)} has no JSON form")


def _problem(error: Exception) -> str:
    """What does not fit, in one line, and without the value, which may be secret."""
    if not isinstance(error, msgspec.MsgspecError):
        return f"{type(error).__name__}: {error}"
    message, at, place = str(error).rpartition(" - at ")
    return (_of_model(error.__cause__) or message or place) + at + (place if at else "")


def _of_model(error: BaseException | None) -> str | None:
    found = getattr(error, "errors", None)
    if not callable(found):
        return None
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": ") for each in found())


def _strangers(info: Any, seen: set[int]) -> Iterator[type]:
    """The classes in a type that neither msgspec nor the hooks know."""
    if isinstance(info, list | tuple):
        for inner in info:
            yield from _strangers(inner, seen)
    elif isinstance(info, msgspec.inspect.CustomType):
        if info.cls is not object and not hasattr(info.cls, "model_validate_json"):
            yield info.cls
    elif isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field) and id(info) not in seen:
        seen.add(id(info))  # a type may hold itself
        for name in info.__struct_fields__:
            if not name.startswith("default"):
                yield from _strangers(getattr(info, name), seen)


def _name(cls: Any) -> str:
    module, name = getattr(cls, "__module__", ""), getattr(cls, "__qualname__", repr(cls))
    return name if module == "builtins" else f"{module}.{name}"

"""A handler's signature as the schema of its args: what enqueue takes, and what the worker calls it with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from inspect import Parameter
from typing import Any, get_args, get_type_hints

import msgspec

from howdah.client.argument import Argument
from howdah.model.errors import InvalidArgs
from howdah.model.limits import MAX_JSON
from howdah.model.nearest import nearest
from howdah.model.options import Options

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
CONTEXT_TEXTS = ("Context", "howdah.Context")
CONTEXT_RULE = "Context is the first positional parameter, annotated `Context` and nothing else"


class HandlerSignature:
    """The parameters of a handler, apart from its Context.

    Annotations are resolved at the first use, since they may name what is defined or imported later. Raises TypeError
    for a signature that no handler may have.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        parameters = tuple(inspect.signature(function).parameters.values())
        for parameter in parameters:
            if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                raise TypeError(f"{_name(function)}: {parameter} is not possible, since a job's args have names")
        self.takes_context = self._begins_with_context(parameters)
        self._context = parameters[0] if self.takes_context else None
        self._parameters = {p.name: p for p in parameters[int(self.takes_context) :]}
        self._positional = [p.name for p in self._parameters.values() if p.kind in POSITIONAL]
        self._positional_only = [p.name for p in self._parameters.values() if p.kind is Parameter.POSITIONAL_ONLY]
        self._required = [p.name for p in self._parameters.values() if p.default is Parameter.empty]

    def resolve(self) -> None:
        """Resolve the annotations now. Raises TypeError, naming the parameter."""
        _ = self._arguments

    def bind_and_encode(self, kind_name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """The args of a call as JSON text: only those that were passed. Raises InvalidArgs, naming the field."""
        if len(args) > len(self._positional):
            takes = f"takes {len(self._positional)} positional arguments, {len(args)} were given"
            raise InvalidArgs(kind_name, None, takes)
        named = dict(zip(self._positional, args, strict=False))
        for name in kwargs:
            if name in named:
                raise InvalidArgs(kind_name, name, "is given twice, by its place and by its name")
            if name in self._positional_only:
                raise InvalidArgs(kind_name, name, "is positional-only: pass it without its name")
        return self.encode(kind_name, named | dict(kwargs))

    def encode(self, kind_name: str, named: Mapping[str, Any]) -> str:
        """Args by name as JSON text. Raises InvalidArgs, naming the field."""
        self._check_names(kind_name, named, drop_unknown=False)
        texts: dict[str, msgspec.Raw] = {}
        for name, value in named.items():
            try:
                texts[name] = msgspec.Raw(self._arguments[name].encode(value).encode())
            except ValueError as problem:
                raise InvalidArgs(kind_name, name, str(problem)) from problem
        data = msgspec.json.encode(texts)
        if len(data) > MAX_JSON:
            over = f"{len(data)} bytes of JSON are over the limit of {MAX_JSON}; store a reference instead"
            raise InvalidArgs(kind_name, None, over)
        return data.decode()

    def decode(self, kind_name: str, args: Mapping[str, Any], *, drop_unknown: bool) -> dict[str, Any]:
        """The handler's args from plain JSON values, as the database holds them. Raises InvalidArgs.

        `drop_unknown` leaves out those that the handler does not name: a landing rarely takes all that its job had.
        """
        self._check_names(kind_name, args, drop_unknown=drop_unknown)
        decoded: dict[str, Any] = {}
        for name, value in args.items():
            if name in self._parameters:
                try:
                    decoded[name] = self._arguments[name].convert(value)
                except ValueError as problem:
                    raise InvalidArgs(kind_name, name, str(problem)) from problem
        return decoded

    @property
    def by_name(self) -> Callable[..., Any]:
        """The handler as a worker calls it: the Context by its place, and all args by name."""
        return self._place_args if self._positional_only else self._function

    def _place_args(self, /, *context: Any, **args: Any) -> Any:
        # A place cannot be skipped, so one that was not passed gets the default it would have had.
        placed = [args.pop(name, self._parameters[name].default) for name in self._positional_only]
        return self._function(*context, *placed, **args)

    @cached_property
    def _arguments(self) -> dict[str, Argument]:
        if self._context is not None and not _is_context(self._type_or_text(self._context)):
            raise self._refusal(self._context, "its annotation says Context, but is not howdah.Context")
        arguments: dict[str, Argument] = {}
        for parameter in self._parameters.values():
            hint = self._type(parameter)
            if _mentions_context(hint):
                raise self._refusal(parameter, CONTEXT_RULE)
            try:
                arguments[parameter.name] = Argument(parameter.name, hint)
            except Exception as error:
                raise self._refusal(parameter, f"its type cannot be held as JSON: {error}") from error
        return arguments

    def _begins_with_context(self, parameters: Iterable[Parameter]) -> bool:
        begins = False
        for place, parameter in enumerate(parameters):
            annotation = self._type_or_text(parameter)
            if not _mentions_context(annotation):
                continue
            if place > 0 or parameter.kind not in POSITIONAL or not _is_context(annotation):
                raise self._refusal(parameter, CONTEXT_RULE)
            begins = True
        return begins

    def _type_or_text(self, parameter: Parameter) -> Any:
        try:
            return self._type(parameter)
        except TypeError:
            return parameter.annotation

    def _type(self, parameter: Parameter) -> Any:
        if parameter.annotation is Parameter.empty:
            return Any
        # One by one: the error can name the parameter, and a return type under TYPE_CHECKING does no harm.
        alone = lambda: None  # noqa: E731  get_type_hints wants a function
        alone.__annotations__ = {"it": parameter.annotation}
        scope = getattr(inspect.unwrap(self._function), "__globals__", {})
        try:
            return get_type_hints(alone, globalns=scope, include_extras=True)["it"]
        except Exception as error:
            raise self._refusal(parameter, f"its annotation cannot be resolved: {error}") from error

    def _check_names(self, kind_name: str, names: Mapping[str, Any], *, drop_unknown: bool) -> None:
        for name in names:
            if name not in self._parameters and not drop_unknown:
                known = ", ".join(self._parameters) or "none"
                hint = nearest(str(name), self._parameters) or f"; the arguments are: {known}"
                if name in Options.__annotations__:
                    hint = f": it is an option, say .options({name}=…).enqueue(…)"
                raise InvalidArgs(kind_name, str(name), f"is not an argument of {self._function.__name__}{hint}")
        for name in self._required:
            if name not in names:
                raise InvalidArgs(kind_name, name, "is missing")

    def _refusal(self, parameter: Parameter, problem: str) -> TypeError:
        return TypeError(f"{_name(self._function)}, parameter {parameter.name!r}: {problem}")


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, str):  # not resolvable yet, or never: imported under TYPE_CHECKING
        return annotation.strip("'\" ") in CONTEXT_TEXTS
    # Known by a mark: the class is the worker's, which this layer does not import.
    return isinstance(annotation, type) and bool(getattr(annotation, "__howdah_context__", False))


def _mentions_context(annotation: Any) -> bool:
    inner = (part for part in get_args(annotation) if isinstance(part, type))
    return _is_context(annotation) or any(_is_context(part) for part in inner)


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"

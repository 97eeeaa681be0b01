"""The package held against `contract.pyi`: every name, and every parameter with its kind and its default."""

import ast
import builtins
import dataclasses
import inspect
import typing
from enum import Enum
from inspect import Parameter
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

import howdah

CONTRACT = ast.parse(Path(__file__).with_name("contract.pyi").read_text())
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
CLASSES = {node.name: node for node in CONTRACT.body if isinstance(node, ast.ClassDef)}
ALIASES = [
    node.target.id
    for node in CONTRACT.body
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
]
METHODS = sorted({(cls.name, node.name) for cls in CLASSES.values() for node in cls.body if isinstance(node, FUNCTION)})
ATTRIBUTES = sorted(
    (cls.name, node.target.id)
    for cls in CLASSES.values()
    for node in cls.body
    if isinstance(node, ast.AnnAssign) and cls.name != "Options"
)
ANY_DEFAULT = object()


def said(body, name):
    """The definitions of a function in the contract: one, or its overloads."""
    return [node for node in body if isinstance(node, FUNCTION) and node.name == name]


def decorators(node):
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def said_parameters(node, *, method):
    """(name, kind, default) of each parameter that the contract names, without self."""
    args = node.args
    positional = [(a, Parameter.POSITIONAL_ONLY) for a in args.posonlyargs]
    positional += [(a, Parameter.POSITIONAL_OR_KEYWORD) for a in args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    found = [(a.arg, kind, default_of(d)) for (a, kind), d in zip(positional, defaults, strict=True)]
    if args.vararg:
        found.append((args.vararg.arg, Parameter.VAR_POSITIONAL, Parameter.empty))
    found += [
        (a.arg, Parameter.KEYWORD_ONLY, default_of(d)) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg:
        found.append((args.kwarg.arg, Parameter.VAR_KEYWORD, Parameter.empty))
    return found[1:] if method else found


def default_of(node):
    if node is None:
        return Parameter.empty
    value = ast.literal_eval(node)
    return ANY_DEFAULT if value is ... else value


def real_parameters(function, *, method):
    found = [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
    return found[1:] if method else found


def assert_same(said, real, where):
    assert [(name, kind.name) for name, kind, _ in real] == [(name, kind.name) for name, kind, _ in said], where
    for (name, _, expected), (_, _, default) in zip(said, real, strict=True):
        if expected is ANY_DEFAULT:
            assert default is not Parameter.empty, f"{where}: {name} has a default"
        else:
            assert (default, type(default)) == (expected, type(expected)), f"{where}: the default of {name}"


def assert_function(nodes, real, where, *, method, module):
    function = inspect.unwrap(real)
    if "overload" in decorators(nodes[0]):
        # Found by name: in a Protocol nothing but overloads is left of the function.
        overloads = typing.get_overloads(SimpleNamespace(__module__=module, __qualname__=where))
        assert len(overloads) == len(nodes), f"{where} has {len(overloads)} overloads, and is to have {len(nodes)}"
        pairs = list(zip(nodes, overloads, strict=True))
    else:
        pairs = [(nodes[0], function)]
    for node, each in pairs:
        assert_same(said_parameters(node, method=method), real_parameters(each, method=method), where)
    assert inspect.iscoroutinefunction(function) == isinstance(nodes[0], ast.AsyncFunctionDef), where


@pytest.mark.parametrize("name", [*CLASSES, *ALIASES, "job"])
def test_a_name_can_be_imported_and_is_public(name):
    assert hasattr(howdah, name)
    assert name in howdah.__all__


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_the_bases_that_the_contract_names(name):
    real = getattr(howdah, name)
    for base in map(ast.unparse, CLASSES[name].bases):
        match base.partition("[")[0]:
            case "Generic":
                assert [p.__name__ for p in real.__parameters__] == base[len("Generic[") : -1].split(", ")
            case "Protocol":
                assert getattr(real, "_is_protocol", False)
            case "TypedDict":
                assert typing.is_typeddict(real)
            case "StrEnum":
                assert issubclass(real, str)
                assert issubclass(real, Enum)
            case known:
                assert issubclass(real, getattr(howdah, known, None) or getattr(builtins, known))


@pytest.mark.parametrize("name", ["Enqueued", "Lease", "Retry"])
def test_plain_data_is_frozen(name):
    real = getattr(howdah, name)
    assert dataclasses.is_dataclass(real)
    assert real.__dataclass_params__.frozen


def test_the_states_are_the_contracts():
    said = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in CLASSES["JobState"].body
        if isinstance(node, ast.Assign)
    }
    assert {state.name: state.value for state in howdah.JobState} == said


def test_the_options_are_the_contracts():
    said = [node.target.id for node in CLASSES["Options"].body if isinstance(node, ast.AnnAssign)]
    assert list(howdah.Options.__annotations__) == said
    assert not howdah.Options.__required_keys__


@pytest.mark.parametrize(("cls", "name"), ATTRIBUTES)
def test_an_attribute_is_there(cls, name):
    real = getattr(howdah, cls)
    declared = {attribute for base in real.__mro__ for attribute in inspect.get_annotations(base)}
    assert name in declared or hasattr(real, name) or name in assigned_to_self(real)


def assigned_to_self(cls):
    if "__init__" not in cls.__dict__:
        return set()
    tree = ast.parse(dedent(inspect.getsource(cls.__init__)))
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}


@pytest.mark.parametrize(("cls", "name"), METHODS)
def test_a_method_takes_what_the_contract_says(cls, name):
    nodes, owner = said(CLASSES[cls].body, name), getattr(howdah, cls)
    real = inspect.getattr_static(owner, name)
    if "property" in decorators(nodes[0]):
        assert isinstance(real, property)
    else:
        assert_function(nodes, real, f"{cls}.{name}", method=True, module=owner.__module__)


def test_job_takes_what_the_contract_says():
    assert_function(said(CONTRACT.body, "job"), howdah.job, "job", method=False, module=howdah.job.__module__)


CLIENT_METHODS = sorted({node.name for node in CLASSES["Client"].body if isinstance(node, FUNCTION)})


@pytest.mark.parametrize("name", [name for name in CLIENT_METHODS if not name.startswith("__") and name != "close"])
def test_the_async_client_has_every_method_of_the_client_awaited(name):
    real = inspect.getattr_static(howdah.AsyncClient, name)
    [node] = said(CLASSES["Client"].body, name)
    assert_same(said_parameters(node, method=True), real_parameters(real, method=True), f"AsyncClient.{name}")
    if name != "new":  # it asks nobody, so there is nothing to wait for
        assert inspect.iscoroutinefunction(real)


def test_the_async_client_is_closed_with_aclose_or_async_with():
    for name in ("aclose", "__aenter__", "__aexit__"):
        assert inspect.iscoroutinefunction(getattr(howdah.AsyncClient, name))
    assert not hasattr(howdah.AsyncClient, "__enter__")

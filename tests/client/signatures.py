"""A handler's args, to JSON and back."""

import pytest

from howdah.client.signature import HandlerSignature
from howdah.model.errors import InvalidArgs


def encoded(handler, *args, **kwargs):
    return HandlerSignature(handler).bind_and_encode("kind", args, kwargs)


def refused(handler, *args, **kwargs):
    with pytest.raises(InvalidArgs) as info:
        encoded(handler, *args, **kwargs)
    assert info.value.kind == "kind"
    return info.value


def decoded(handler, args, *, drop_unknown=False):
    return HandlerSignature(handler).decode("kind", args, drop_unknown=drop_unknown)


def taking(hint):
    """A handler whose one parameter `x` has this type."""

    def handler(x): ...

    handler.__annotations__ = {"x": hint}
    return handler

"""`@job`: a handler becomes a kind, which can be called, enqueued, and given to a worker."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    get_args,
    overload,
)

from howdah.client.signature import HandlerSignature
from howdah.model.errors import InvalidOption
from howdah.model.job import Enqueued, NewJob, OnCrash, OnSupersede, Policy
from howdah.model.limits import Seconds, check_lease, check_name, check_seconds
from howdah.model.nearest import nearest
from howdah.model.options import Options, checked, new_job
from howdah.model.retry import Retry

if TYPE_CHECKING:
    from howdah.client.target import AsyncTarget, SyncTarget
    from howdah.worker.context import Context

P = ParamSpec("P")  # what enqueue takes
C = ParamSpec("C")  # what a direct call takes: P, or Context first and then P
R = TypeVar("R", covariant=True)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a worker waits for a handler, in seconds; None: as long as it takes."""

    timeout: float | None = None
    stall_timeout: float | None = None


PATIENT = Patience()


class Kind(Generic[C, P, R]):
    """A handler with its name and policy. Calling it calls the handler; `enqueue` leaves that to a worker.

    Attributes: `name`, as in `jobs.kind`; the `policy`; the `patience` of a worker with it; the `function`, and
    `by_name`, which takes all args by name, as a worker calls it; and whether it `is_async` and `takes_context`.
    """

    name: str

    def __init__(self, function: Callable[C, R], policy: Policy, patience: Patience = PATIENT) -> None:
        self._signature = HandlerSignature(function)
        self._options: dict[str, Any] = {}
        self.name = policy.kind
        self.policy = policy
        self.patience = patience
        self.function = function
        self.by_name = self._signature.by_name
        self.is_async = inspect.iscoroutinefunction(function)
        self.takes_context = self._signature.takes_context
        functools.update_wrapper(self, function, updated=())

    # `self` is positional-only wherever args follow: a handler may have a parameter of that name.
    def __call__(self, /, *args: C.args, **kwargs: C.kwargs) -> R:
        return self.function(*args, **kwargs)

    @overload
    def enqueue(self, on: SyncTarget, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued: ...
    @overload
    def enqueue(self, on: AsyncTarget, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Enqueued]: ...
    def enqueue(self, on: Any, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued | Coroutine[Any, Any, Enqueued]:
        """Enqueue a job in the target's transaction: await the answer of an async target.

        Raises InvalidArgs before anything is written, and TypeError for what is not a target.
        """
        from howdah.client import target  # not before the first enqueue: a module of kinds needs no database

        return target.enqueue(on, self.new(*args, **kwargs))

    @overload
    def enqueue_many(self, on: SyncTarget, jobs: Iterable[NewJob | Mapping[str, Any]], /) -> list[Enqueued]: ...
    @overload
    def enqueue_many(
        self, on: AsyncTarget, jobs: Iterable[NewJob | Mapping[str, Any]], /
    ) -> Coroutine[Any, Any, list[Enqueued]]: ...
    def enqueue_many(
        self, on: Any, jobs: Iterable[NewJob | Mapping[str, Any]], /
    ) -> list[Enqueued] | Coroutine[Any, Any, list[Enqueued]]:
        """Enqueue a batch, all or none: mappings of args, which get this kind's options, or jobs made by `new`.

        The answers are in the order of the jobs. Raises InvalidArgs before anything is written.
        """
        from howdah.client import target

        return target.enqueue_many(on, [self._as_new(item, place) for place, item in enumerate(jobs)])

    def new(self, /, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """The checked job, not enqueued. Raises InvalidArgs, naming the field."""
        return self._with_options(self._signature.bind_and_encode(self.name, args, kwargs))

    def options(self, **options: Unpack[Options]) -> Self:
        """This kind with options for its next jobs; a later call adds to them. Raises InvalidOption."""
        merged = self._options | cast("dict[str, Any]", options)
        checked(merged)
        other = copy.copy(self)
        other._options = merged  # noqa: SLF001  its own copy
        return other

    def decode(self, args: Mapping[str, Any], *, drop_unknown: bool = False) -> dict[str, Any]:
        """The handler's args from the database's plain JSON values. Raises InvalidArgs, naming the field."""
        return self._signature.decode(self.name, args, drop_unknown=drop_unknown)

    def resolve(self) -> None:
        """Resolve the handler's annotations now. Raises TypeError, naming the parameter."""
        self._signature.resolve()

    def __repr__(self) -> str:
        return f"<Kind {self.name!r}: {self.function.__module__}.{self.function.__qualname__}>"

    def _as_new(self, item: NewJob | Mapping[str, Any], place: int) -> NewJob:
        if isinstance(item, NewJob):
            return item
        if not isinstance(item, Mapping):
            raise TypeError(f"jobs[{place}] must be a mapping of args or a NewJob, not {type(item).__name__}")
        try:
            return self._with_options(self._signature.encode(self.name, item))
        except ValueError as error:
            error.add_note(f"in jobs[{place}]")
            raise

    def _with_options(self, args: str) -> NewJob:
        return new_job(self.name, args, self.policy.queue, self._options)


AnyKind: TypeAlias = Kind[..., ..., Any]


class KindDecorator(Protocol):
    """What `job(...)` with options gives."""

    @overload
    def __call__(self, handler: Callable[Concatenate[Context, P], R], /) -> Kind[Concatenate[Context, P], P, R]: ...
    @overload
    def __call__(self, handler: Callable[P, R], /) -> Kind[P, P, R]: ...


@overload
def job(handler: Callable[Concatenate[Context, P], R], /) -> Kind[Concatenate[Context, P], P, R]: ...
@overload
def job(handler: Callable[P, R], /) -> Kind[P, P, R]: ...
@overload
def job(
    *,
    kind: str | None = None,
    queue: str = "default",
    retry: Retry = ...,
    lease: Seconds = 60.0,
    timeout: Seconds | None = None,
    stall_timeout: Seconds | None = None,
    on_crash: OnCrash = "retry",
    on_supersede: OnSupersede = "cancel",
    on_discard: str | AnyKind | None = None,
    on_unknown: str | AnyKind | None = None,
) -> KindDecorator: ...
def job(
    handler: Any = None,
    /,
    *,
    kind: str | None = None,
    queue: str = "default",
    retry: Retry | None = None,
    lease: Seconds = 60.0,
    timeout: Seconds | None = None,
    stall_timeout: Seconds | None = None,
    on_crash: OnCrash = "retry",
    on_supersede: OnSupersede = "cancel",
    on_discard: str | AnyKind | None = None,
    on_unknown: str | AnyKind | None = None,
    **unknown: Any,
) -> Any:
    """Make a handler a kind of job: `@job` alone, or with options.

    `kind` is the stable name, by default the function's; the rest is its policy, kept in `howdah.kinds`. Without a
    `retry` there is one attempt with `on_crash="unknown"`, else ten. `on_discard` and `on_unknown` follow such an end.
    Raises InvalidOption for an option, and TypeError for a function that cannot be a handler.
    """
    for option in unknown:
        raise TypeError(f"@job has no option {option!r}{nearest(option, inspect.signature(job).parameters)}")
    patience = Patience(_limit("timeout", timeout), _limit("stall_timeout", stall_timeout))
    name = None if kind is None else check_name("kind", kind)
    policy = functools.partial(
        Policy,
        queue=check_name("queue", queue),
        **_retry(retry, on_crash),
        lease=check_lease(lease),
        on_crash=_one_of("on_crash", on_crash, get_args(OnCrash)),
        on_supersede=_one_of("on_supersede", on_supersede, get_args(OnSupersede)),
        on_discard=_kind_name("on_discard", on_discard),
        on_unknown=_kind_name("on_unknown", on_unknown),
    )
    decorator = functools.partial(_kind, policy, patience, name)
    return decorator if handler is None else decorator(handler)


def _kind(policy: Callable[..., Policy], patience: Patience, name: str | None, handler: Any, /) -> AnyKind:
    _check_handler(handler)
    return Kind(handler, policy(kind=check_name("kind", handler.__name__) if name is None else name), patience)


def _limit(option: str, value: Seconds | None) -> float | None:
    if value is None:
        return None
    seconds = check_seconds(option, value)
    if seconds <= 0:
        raise InvalidOption(option, value, "must be more than 0 seconds")
    return seconds


def _check_handler(handler: Any) -> None:
    if isinstance(handler, Kind):
        raise TypeError(f"{handler.name} is a kind already")
    if not inspect.isfunction(handler) and not inspect.ismethod(handler):
        hint = ": @job(kind=...) names a kind" if isinstance(handler, str) else ""
        raise TypeError(f"@job goes on a function or a bound method, not on {handler!r}{hint}")
    name = f"{handler.__module__}.{handler.__qualname__}"
    if inspect.isgeneratorfunction(handler) or inspect.isasyncgenfunction(handler):
        raise TypeError(f"{name} is a generator: a handler returns its result once")
    if inspect.isfunction(handler) and _is_method(handler):
        raise TypeError(f"{name} is a method, and a worker has no object to call it on: job(object.method) works")


def _is_method(function: Callable[..., Any]) -> bool:
    around = function.__qualname__.rpartition(".")[0]
    in_a_class = bool(around) and not around.endswith("<locals>")
    return in_a_class and next(iter(inspect.signature(function).parameters), None) in ("self", "cls")


def _retry(retry: Any, on_crash: str) -> dict[str, Any]:
    if retry is None:
        retry = Retry(max_attempts=1) if on_crash == "unknown" else Retry()
    if not isinstance(retry, Retry):
        raise InvalidOption("retry", retry, "must be a Retry: Retry(max_attempts=5), for example")
    return {
        "max_attempts": retry.max_attempts,
        "retry_base": retry.base,
        "retry_factor": retry.factor,
        "retry_cap": retry.cap,
        "retry_jitter": retry.jitter,
    }


def _one_of(option: str, value: Any, choices: tuple[str, ...]) -> Any:
    if value not in choices:
        raise InvalidOption(option, value, f"must be one of {', '.join(choices)}{nearest(str(value), choices)}")
    return value


def _kind_name(option: str, value: str | AnyKind | None) -> str | None:
    if value is None:
        return None
    return value.name if isinstance(value, Kind) else check_name(option, value)

"""Which jobs an operator means."""

from __future__ import annotations

from dataclasses import dataclass, fields

from howdah.model.job import FINAL
from howdah.model.limits import check_name, check_seconds

MAX_ERROR = 2_000  # bytes: no more of a message is kept than this


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a job must be like; None and () ask for nothing.

    `states`: one of these. `older_than`, `newer_than`: seconds since it was enqueued. `error`: a text in the type or
    message of any failure that is kept on it, in upper or lower case. The others are equal to what is given.

    Raises InvalidOption for what no job could have.
    """

    states: tuple[str, ...] = ()
    kind: str | None = None
    queue: str | None = None
    key: str | None = None
    subject: str | None = None
    worker: str | None = None
    tag: str | None = None
    older_than: float | None = None
    newer_than: float | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        for name in ("kind", "queue", "key", "subject", "worker", "tag"):
            if (value := getattr(self, name)) is not None:
                check_name(name, value)
        if self.error is not None:
            check_name("error", self.error, limit=MAX_ERROR)
        for name in ("older_than", "newer_than"):
            if (seconds := getattr(self, name)) is not None:
                check_seconds(name, seconds)

    @property
    def is_empty(self) -> bool:
        """Whether every job is meant."""
        return all(getattr(self, field.name) in (None, ()) for field in fields(self))

    @property
    def wants_live(self) -> bool:
        """Whether a job that is not final can be meant."""
        return not self.states or not FINAL.issuperset(self.states)

    @property
    def wants_final(self) -> bool:
        """Whether a final job can be meant."""
        return not self.states or not FINAL.isdisjoint(self.states)

"""What a worker can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from howdah.model.errors import InvalidOption
from howdah.model.limits import MAX_BATCH, check_name, check_seconds, check_whole


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How much a worker runs at once, and how patient it is. Durations are seconds.

    `queues`: queue → slots. `threads`: how many sync handlers run at once; None: as many as slots.
    `prefetch`: how many claimed jobs may wait for a slot of a queue, at most; never more than its slots.

    Raises InvalidOption.
    """

    queues: Mapping[str, int] = field(default_factory=lambda: {"default": 10})
    poll: float = 1.0
    grace: float = 30.0
    threads: int | None = None
    prefetch: int = 100

    def __post_init__(self) -> None:
        if not self.queues:
            raise InvalidOption("queues", self.queues, "name at least one queue and its slots")
        for name, slots in self.queues.items():
            check_name("queues", name)
            check_whole("queues", slots, 1, MAX_BATCH)
        check_seconds("poll", self.poll, low=0.001)
        check_seconds("grace", self.grace)
        check_whole("prefetch", self.prefetch, 0, MAX_BATCH)
        if self.threads is not None:
            check_whole("threads", self.threads, 1, MAX_BATCH)

    @property
    def thread_count(self) -> int:
        """How many threads run sync handlers."""
        return self.threads or sum(self.queues.values())

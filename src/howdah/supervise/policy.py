"""What is done about a process that has ended. Pure: no processes, no clock, no chance."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONG_RUN = 30.0  # seconds: one that ran so long starts again at once

# One that dies of the signal itself was still starting, and had nothing to finish.
_STOPPED = (0, -signal.SIGTERM, -signal.SIGINT)


@dataclass(frozen=True, slots=True)
class End:
    """How a process ended: its exit status, or minus the signal; after so many seconds.

    `refused`: it said itself that it cannot run at all (usage, an import, the schema). A status alone does not say
    that: a handler may call os._exit(2).
    """

    status: int
    lasted: float
    refused: bool = False

    def __str__(self) -> str:
        return f"{ending(self.status)} after {self.lasted:.1f} s"


def ending(status: int) -> str:
    """A status in words."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"died of {signal.Signals(-status).name}"
    except ValueError:
        return f"died of signal {-status}"


def quick_ends(before: int, end: End) -> int:
    """How many times in a row it has ended quickly, with this one."""
    return 0 if end.lasted >= LONG_RUN else before + 1


def delay(quick: int, chance: float) -> float:
    """Seconds to wait before the next start after so many quick ends; `chance` in [0, 1) spreads them."""
    if quick == 0:
        return 0.0
    longest = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(quick - 1, 16))
    return longest * (0.5 + chance / 2)


def given_up(first_ends: Sequence[End | None]) -> int | None:
    """The exit status to give up with, where every process refused to run at its first start; None: go on.

    They have one command and one database, so no restart helps. Once one of them could run, whatever keeps the others
    from it may pass.
    """
    refused = [end.status for end in first_ends if end is not None and end.refused]
    return max(refused) if len(refused) == len(first_ends) else None


def stopped_well(end: End) -> bool:
    """Whether one that was asked to stop did so."""
    return end.status in _STOPPED

"""Jobs that have crashed before begin one after the other, so that a poison job takes no neighbour with it twice.

See `docs/decisions/007-suspects-begin-one-after-the-other.md`.
"""

from __future__ import annotations

import asyncio

from howdah.worker.attempt import Attempt

PATIENCE = 1.0  # seconds after which a suspect that still runs lets the next one begin


class Suspects:
    """Whose turn it is. Belongs to the event loop."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._turn = asyncio.Lock()
        self._suspect: Attempt | None = None

    async def wait(self, attempt: Attempt) -> None:
        """Wait until the suspect before this one is settled, or has run for a while."""
        await self._turn.acquire()
        self._suspect = attempt
        asyncio.get_running_loop().call_later(self._patience, self.over, attempt)

    def over(self, attempt: Attempt) -> None:
        """The next one may begin; for an attempt whose turn it is not, nothing."""
        if attempt is self._suspect:
            self._suspect = None
            self._turn.release()

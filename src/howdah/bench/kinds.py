"""The benchmark's kinds. Each marks in the ledger that it ran, and does nothing else that it need not."""

from __future__ import annotations

import asyncio
import base64
import random

from howdah import Context, job
from howdah.bench.baseline import EFFECT
from howdah.bench.ledger import Ledger

_EMPTY = len('{"n":1234567,"text":""}')
LEASE_OF_HELD = 10.0

ledger: Ledger


def keep_ledger(kept: Ledger) -> None:
    """Where the handlers of this process mark what they run."""
    global ledger
    ledger = kept


def text_of(payload: int) -> str:
    """Text that makes the args so many bytes of JSON, and that compression cannot shorten."""
    letters = random.Random(payload).randbytes(payload)  # noqa: S311  the same in each run
    return base64.b64encode(letters).decode()[: max(0, payload - _EMPTY)]


@job(kind="bench.noop")
async def noop(n: int, text: str) -> None:
    """Nothing, on the event loop."""
    ledger.mark(n)


@job(kind="bench.sync")
def sync(n: int, text: str) -> None:
    """Nothing, in a thread."""
    ledger.mark(n)


@job(kind="bench.effect")
async def effect(ctx: Context, n: int, text: str) -> None:
    """One row, in the transaction of the completion."""
    async with ctx.transaction() as connection:
        await connection.execute(EFFECT, (n, text))
    ledger.mark(n)


@job(kind="bench.held", lease=LEASE_OF_HELD)
async def held(n: int, text: str) -> None:
    """Holds its lease until its worker is stopped."""
    ledger.mark(n)
    await asyncio.Event().wait()


KINDS = {kind.name: kind for kind in (noop, sync, effect, held)}

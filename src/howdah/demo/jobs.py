"""The demo's kinds. Leases of 3 seconds, so that what a killed worker held comes back while you watch."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

from howdah import Client, Context, InvalidTransition, Retry, job
from howdah.demo import ledger
from howdah.demo.files import measure

LEASE = 3.0
SOON = Retry(max_attempts=5, base=0.2, factor=1.0)


@job(kind="demo.measure", queue="files", lease=LEASE, retry=SOON)
def measure_file(ctx: Context, path: str) -> None:
    """The row and the completion are one commit: a worker killed anywhere leaves both or neither."""
    facts = measure(Path(os.environ["HOWDAH_DEMO_ROOT"]) / path)
    with ctx.transaction() as connection:
        connection.execute(
            "INSERT INTO demo_files (path, size, lines, sha256, attempt) VALUES (%s, %s, %s, %s, %s)",
            (path, facts.size, facts.lines, facts.sha256, ctx.attempt),
        )


@job(kind="demo.ship", queue="parcels", lease=LEASE, on_crash="unknown", on_unknown="demo.reconcile")
async def ship(parcel: int) -> None:
    """An effect outside of PostgreSQL that must not happen twice. Odd parcels ship late, even ones early."""
    if parcel % 2:
        await _gate()
        ledger.append(parcel)
    else:
        ledger.append(parcel)
        await _gate()


@job(kind="demo.reconcile", lease=LEASE, retry=SOON)
def reconcile(job_id: int, args: dict[str, Any]) -> str:
    """Looks at the world instead of shipping again blindly: the ledger knows whether the parcel left."""
    shipped = args["parcel"] in ledger.read()
    with Client() as client:
        try:
            client.resolve(job_id, "completed" if shipped else "available", note="the ledger was asked")
        except InvalidTransition:
            return "an attempt before this one, whose worker was killed, had resolved it"
    return "it had shipped" if shipped else "it had not, it ships now"


@job(
    kind="demo.poison",
    queue="poison",
    lease=LEASE,
    retry=Retry(max_attempts=3, base=0.2, factor=1.0),
    on_discard="demo.bury",
)
def poison() -> None:
    """Kills its worker each time. A crash counts as an attempt, so it ends at its cap."""
    os.kill(os.getpid(), signal.SIGKILL)


@job(kind="demo.bury", lease=LEASE, retry=SOON)
def bury(job_id: int, attempt: int) -> str:
    """Where a failure lands is a job too."""
    return f"job {job_id} was given up after {attempt} attempts"


@job(kind="demo.publish", queue="files", lease=LEASE)
def publish(revision: int) -> int:
    """Only the newest revision counts: a newer job of the subject supersedes the older ones."""
    return revision


async def _gate() -> None:
    while not ledger.gate_is_open():  # noqa: ASYNC110  another process opens it
        await asyncio.sleep(0.02)

"""From where on something is worth a word. Seconds, bytes, and counts."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """What is still fine. Tests lower these, so that they need not wait for hours or write gigabytes."""

    old_transaction: float = 300  # seconds that a transaction may hold the horizon
    old_xids: int = 1_000_000  # transactions begun since, where no time is known: slots, standbys
    dead_rows: int = 1_000_000
    dead_share: float = 10  # dead rows per live one
    bloat_bytes: int = 128 * MIB
    bloat_factor: float = 10  # of what its entries need
    wraparound: int = 1_000_000_000
    connections: float = 0.9  # the part of max_connections that may be in use
    clock: float = 5  # seconds beyond doubt
    waiting: float = 60  # seconds that a job may wait where nobody serves its queue, or knows its kind
    paused: float = 3600  # seconds that a queue with work may be paused
    overdue: float = 30  # seconds after the end of a lease, or the time of a scheduled job
    sweep_age: float = 60  # seconds since the last sweep, while workers live
    released: int = 10  # how often a job may be given back
    snoozed: int = 100  # how often a job may be put off
    days_ahead: int = 3  # of history's partitions
    retention: float = 30 * 86_400.0

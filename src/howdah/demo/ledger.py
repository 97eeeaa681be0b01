"""The outside world of the demo: a file that says which parcels left, and a gate that holds the parcels back."""

from __future__ import annotations

import os
from pathlib import Path


def append(parcel: int) -> None:
    """A parcel leaves: on disk when this returns."""
    with (_folder() / "shipped").open("a") as file:
        file.write(f"{parcel}\n")
        file.flush()
        os.fsync(file.fileno())


def read() -> list[int]:
    """The parcels that left, once for each time that they did."""
    path = _folder() / "shipped"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def open_gate() -> None:
    """Let the parcels go on."""
    (_folder() / "gate").touch()


def gate_is_open() -> bool:
    """Whether a worker has been killed by now."""
    return (_folder() / "gate").exists()


def _folder() -> Path:
    return Path(os.environ["HOWDAH_DEMO_FOLDER"])

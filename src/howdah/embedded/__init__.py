"""PostgreSQL as a part of the program: for the demo, for development and for tests."""

from howdah.embedded.binaries import Binaries
from howdah.embedded.errors import (
    AlreadyRunning,
    BinariesNotFound,
    EmbeddedError,
    NotADataFolder,
    NotRunning,
    OtherMajorVersion,
    StartFailed,
    UnreachableFolder,
    UntrustedFolder,
)
from howdah.embedded.server import EmbeddedServer

__all__ = [
    "EmbeddedServer",
    "Binaries",
    "EmbeddedError",
    "AlreadyRunning",
    "BinariesNotFound",
    "NotADataFolder",
    "NotRunning",
    "OtherMajorVersion",
    "StartFailed",
    "UnreachableFolder",
    "UntrustedFolder",
]

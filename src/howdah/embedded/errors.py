"""What can keep an embedded server from running.

EmbeddedError
├── BinariesNotFound        no PostgreSQL where one was looked for
├── UntrustedFolder         a folder that the server would use belongs to somebody else
├── UnreachableFolder       the unprivileged account of the server may not enter a folder
├── NotADataFolder          the folder holds something else than a PostgreSQL
├── OtherMajorVersion       the data was written by another major version of PostgreSQL
├── AlreadyRunning          a live server has the data
├── StartFailed             PostgreSQL ended, or was not ready in time
└── NotRunning              the server was not started, or was stopped
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from howdah.model.errors import HowdahError

if TYPE_CHECKING:
    from pathlib import Path


class EmbeddedError(HowdahError):
    """The root of the errors of the embedded server."""


class BinariesNotFound(EmbeddedError):
    """There is no PostgreSQL to start. Attribute: `place`, where it was looked for."""

    def __init__(self, place: str, advice: str) -> None:
        self.place = place
        super().__init__(f"no PostgreSQL in {place}: {advice}")


class UntrustedFolder(EmbeddedError):
    """A folder that must be one account's own belongs to another one, or others may write there.

    Attributes: `folder`, and `account`, the name of the account that must own it.
    """

    def __init__(self, folder: Path, account: str, problem: str, advice: str) -> None:
        self.folder = folder
        self.account = account
        super().__init__(f"{folder} {problem}, and must belong to {account} alone: {advice}")


class UnreachableFolder(EmbeddedError):
    """The server may not enter a folder on its way. Nothing was created, and no permission was changed.

    Attributes: `path`, where the server must go; `blocked_by`, the folder in its way; `account`.
    """

    def __init__(self, path: Path, blocked_by: Path, account: str) -> None:
        self.path = path
        self.blocked_by = blocked_by
        self.account = account
        super().__init__(
            f"{path} is out of reach of {account!r}, which PostgreSQL runs as because it refuses to run as root: "
            f"{blocked_by} is closed to it. Choose a path below a folder that all may enter (such as /var/tmp or "
            f"/srv), or open that one: chmod o+x {blocked_by}"
        )


class NotADataFolder(EmbeddedError):
    """The folder cannot be used as data of an embedded server. Attribute: `folder`."""

    def __init__(self, folder: Path, problem: str) -> None:
        self.folder = folder
        super().__init__(f"{folder} {problem}: name a folder that does not exist yet, or one that Howdah made")


class OtherMajorVersion(EmbeddedError):
    """The data needs other binaries. Attributes: `folder`, `written_by` (a major version), `binaries` (a version)."""

    def __init__(self, folder: Path, written_by: str, binaries: str) -> None:
        self.folder = folder
        self.written_by = written_by
        self.binaries = binaries
        super().__init__(
            f"{folder} was written by PostgreSQL {written_by}, and these binaries are {binaries}: "
            f"use binaries of PostgreSQL {written_by}, or another folder"
        )


class AlreadyRunning(EmbeddedError):
    """A live server has this data; two would destroy it. Attributes: `folder`, and `pid` of the server."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.folder = folder
        self.pid = pid
        super().__init__(f"a server with pid {pid} runs on {folder}: stop it first (kill -INT {pid}), or use its DSN")


class StartFailed(EmbeddedError):
    """PostgreSQL did not come up. Attributes: `problem`, and `log`, the last lines it wrote."""

    def __init__(self, problem: str, log: str) -> None:
        self.problem = problem
        self.log = log
        super().__init__(f"{problem}; the end of its log says why:\n{log or '(nothing was logged)'}")


class NotRunning(EmbeddedError):
    """The server is not running, so that it has no such thing. Attribute: `wanted`."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        super().__init__(f"the server is not running and has no {wanted}: call start() first")

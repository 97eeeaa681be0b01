"""The account that PostgreSQL runs as: ours, or `nobody` when we are root, because it refuses to run as root."""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

_NOBODY = 65534


class Identity(TypedDict, total=False):
    """The arguments of `subprocess` that change to an account; none when it is ours already."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """A user and its group. `foreign`: it is not ours, and programs must change to it."""

    uid: int
    gid: int
    name: str
    foreign: bool

    @classmethod
    def for_server(cls) -> Self:
        """Return the account that a server started by this process runs as."""
        own = os.geteuid()
        if own != 0:
            return cls(own, os.getegid(), _name(own), foreign=False)
        try:
            nobody = pwd.getpwnam("nobody")
        except KeyError:
            return cls(_NOBODY, _NOBODY, "nobody", foreign=True)
        return cls(nobody.pw_uid, nobody.pw_gid, "nobody", foreign=True)

    @property
    def identity(self) -> Identity:
        """The arguments for `subprocess`."""
        return Identity(user=self.uid, group=self.gid, extra_groups=[]) if self.foreign else Identity()

    def take(self, made_by_us: Path) -> None:
        """Make this account the owner of a file or folder. Only ever of one that this process has just created."""
        if self.foreign:
            os.chown(made_by_us, self.uid, self.gid, follow_symlinks=False)

    def blocked_by(self, path: Path) -> Path | None:
        """Return the first existing folder above `path` that the account may not enter, None if it may enter all."""
        if not self.foreign:
            return None
        folders = [folder for folder in reversed(path.parents) if folder.exists()]
        return next((folder for folder in folders if not self._may_enter(folder)), None)

    def _may_enter(self, folder: Path) -> bool:
        status = folder.stat()
        if status.st_uid == self.uid:
            return bool(status.st_mode & stat.S_IXUSR)
        if status.st_gid == self.gid:
            return bool(status.st_mode & stat.S_IXGRP)
        return bool(status.st_mode & stat.S_IXOTH)


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container may run as a number that has no name
        return f"uid {uid}"

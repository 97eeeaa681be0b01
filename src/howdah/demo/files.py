"""Which files the demo works on, and what it says of each."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Facts:
    """`size` in bytes, `lines` as newlines, `sha256` in hex."""

    size: int
    lines: int
    sha256: str


def measure(path: Path) -> Facts:
    """Read a file once, in chunks."""
    size, lines, digest = 0, 0, hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            size += len(chunk)
            lines += chunk.count(b"\n")
            digest.update(chunk)
    return Facts(size, lines, digest.hexdigest())


def find(root: Path | None) -> tuple[Path, list[str]]:
    """The folder, and the paths below it: the tracked files of the checkout we stand in, or all but hidden ones.

    Left out are links, what cannot be read, and names that are not UTF-8, which JSON cannot say.
    """
    if root is None:
        top = _git(["rev-parse", "--show-toplevel"], Path.cwd())
        if top:
            folder = Path(top[0])
            return folder, [name for name in _git(["ls-files", "-z"], folder) if _usable(folder / name)]
        root = Path.cwd()
    root = root.resolve()
    return root, sorted(str(path.relative_to(root)) for path in _walk(root) if _usable(path))


def _walk(folder: Path) -> Iterator[Path]:
    try:
        inside = list(folder.iterdir())
    except OSError:
        return  # a folder that cannot be read
    for path in inside:
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        else:
            yield path


def _usable(path: Path) -> bool:
    try:
        str(path).encode()
        if path.is_symlink() or not path.is_file():  # first: opening a pipe would wait for its other end
            return False
        with path.open("rb"):
            return True
    except (OSError, UnicodeEncodeError):
        return False


def _git(arguments: list[str], folder: Path) -> list[str]:
    try:
        found = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)  # noqa: S603, S607
    except (OSError, subprocess.CalledProcessError):
        return []
    text = found.stdout.decode(errors="surrogateescape")
    return [
        name for name in text.replace("\0", "\n" if "-z" not in arguments else "\0").rstrip("\n").split("\0") if name
    ]

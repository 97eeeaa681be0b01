"""The folder with a server's data: what is refused, and how a new one is made."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from howdah.embedded.errors import (
    AlreadyRunning,
    NotADataFolder,
    OtherMajorVersion,
    StartFailed,
    UnreachableFolder,
    UntrustedFolder,
)
from howdah.embedded.processes import is_alive

if TYPE_CHECKING:
    from howdah.embedded.account import Account
    from howdah.embedded.binaries import Binaries

SUPERUSER = "postgres"
# LC_ALL: macOS needs it to start a server at all. TZ: initdb would copy the time zone of this machine.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_PASSWORD = "howdah-password"  # noqa: S105  (the name of a file)


def refuse_unusable(folder: Path, binaries: Binaries, account: Account) -> None:
    """Raise unless the server could work on the folder, which may exist or not. Changes nothing."""
    for path in (folder, binaries.bindir / "postgres"):
        if blocked_by := account.blocked_by(path):
            raise UnreachableFolder(path, blocked_by, account.name)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise NotADataFolder(folder, "is not a folder")
    if (owner := folder.stat().st_uid) != account.uid:
        raise UntrustedFolder(folder, account.name, f"belongs to uid {owner}", "name a folder that does not exist yet")
    if not is_initialised(folder):
        if any(folder.iterdir()):
            raise NotADataFolder(folder, "holds something else than a PostgreSQL")
        return
    if (written_by := _version_file(folder).read_text().strip()) != str(binaries.major):
        raise OtherMajorVersion(folder, written_by, binaries.version)
    if (pid := live_server(folder)) is not None:
        raise AlreadyRunning(folder, pid)


def is_initialised(folder: Path) -> bool:
    """Tell whether the folder holds the data of a PostgreSQL."""
    return _version_file(folder).exists()


def initialise(folder: Path, binaries: Binaries, account: Account, *, durable: bool) -> None:
    """Make the folder, with a new PostgreSQL in it: whole, or not at all."""
    _make_parents(folder.parent)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        password = draft / _PASSWORD
        password.touch(0o600)
        password.write_text(secrets.token_urlsafe(24))
        account.take(password)
        account.take(draft)
        _initdb(draft / "data", password, binaries, account, durable=durable)
        password.rename(draft / "data" / _PASSWORD)
        try:
            (draft / "data").rename(folder)
        except OSError:
            if not is_initialised(folder):  # another process may have been faster
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def password_of(folder: Path) -> str:
    """Return the superuser's password, which connections over TCP need."""
    try:
        return (folder / _PASSWORD).read_text()
    except FileNotFoundError:
        raise NotADataFolder(folder, "has no password of ours, which TCP needs") from None


def is_ready(folder: Path, pid: int) -> bool:
    """Tell whether the server with this pid says that it takes connections."""
    lines = _pid_file(folder)
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def live_server(folder: Path) -> int | None:
    """Return the pid of the server that runs on the folder, None if there is none or it died."""
    lines = _pid_file(folder)
    if not lines:
        return None
    pid = int(lines[0])
    try:
        # The pid of a dead server may by now be another program's; a server works in its data.
        serves = Path(f"/proc/{pid}/cwd").samefile(folder)
    except OSError:
        serves = is_alive(pid)
    return pid if serves else None


def _initdb(folder: Path, password: Path, binaries: Binaries, account: Account, *, durable: bool) -> None:
    command = [str(binaries.bindir / "initdb"), f"--pgdata={folder}", f"--username={SUPERUSER}", "--encoding=UTF8"]
    command += ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}", "--no-instructions"]
    command += _locale(binaries.major)
    if not durable:
        command.append("--no-sync")
    done = subprocess.run(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        cwd="/",
        env=ENVIRONMENT,
        **account.identity,
    )
    if done.returncode:
        raise StartFailed(f"initdb ended with status {done.returncode}", done.stderr.strip())


def _locale(major: int) -> list[str]:
    if major >= 17:  # its own C.UTF-8 is the same on every machine
        return ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    return ["--locale=C.UTF-8" if sys.platform == "linux" else "--locale=C"]


def _make_parents(folder: Path) -> None:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)  # a strict umask would close it to the server


def _version_file(folder: Path) -> Path:
    return folder / "PG_VERSION"


def _pid_file(folder: Path) -> list[str]:
    try:
        return (folder / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []

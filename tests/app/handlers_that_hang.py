"""A worker in a process of its own whose handler does what its argument says."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from howdah import Context, Worker, job

LONG = 60.0


@job(kind="hang")
async def hang(how: str) -> str:
    print("began", how, flush=True)
    match how:
        case "block the loop":
            time.sleep(LONG)
        case "swallow cancellation":
            end = time.monotonic() + LONG
            while time.monotonic() < end:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(LONG)
        case "leave a thread":
            threading.Thread(target=time.sleep, args=(LONG,)).start()
        case "leave a process":
            subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({LONG})"])
        case "exit in a child":
            await asyncio.gather(_exit(), asyncio.sleep(0.01))
        case "asyncio's signals":
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, print)
        case "stop the loop":
            asyncio.get_running_loop().stop()
        case "executor":
            await asyncio.to_thread(time.sleep, LONG)
    return how


@job(kind="hang_in_thread")
def hang_in_thread(ctx: Context, how: str) -> str:
    print("began", how, flush=True)
    time.sleep(LONG)
    return how


@job(kind="leave_a_fork")
def leave_a_fork(ctx: Context, how: str) -> str:
    """A child that lives on has all of the worker's descriptors, as those of multiprocessing have."""
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", str(LONG)]) if how == "exec" else time.sleep(LONG)
        os._exit(0)
    print("began", how, flush=True)
    return how


@job(kind="look")
def look() -> int:
    return os.getpid()


async def _exit() -> None:
    sys.exit(3)


if __name__ == "__main__":
    Worker(kinds=[hang, hang_in_thread, leave_a_fork, look], grace=float(sys.argv[1]), poll=0.1).run()

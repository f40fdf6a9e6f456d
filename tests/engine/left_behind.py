"""Ends what a test process started and, killed or interrupted twice, could not end any more.

Run as a program next to a test process: when that is gone, the pipe between them closes.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from gpufleet_sandbox import processes

GRACE_SECONDS = 5.0


@contextmanager
def ended_with_us(folder: Path) -> Iterator[None]:
    """End every process that runs in a folder, or names it, when this process ends in the block.

    Args:
        folder: Holds everything that the tests of this process start, and nothing else.
    """
    watcher = subprocess.Popen(
        [sys.executable, __file__, str(folder)], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        yield
    finally:
        watcher.kill()  # the tests report the remaining processes
        watcher.communicate()


def running_in(folder: str) -> list[psutil.Process]:
    """Processes with their working directory below a folder, or with a path below it as argument
    or in their environment."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            texts = [process.cwd(), *process.cmdline(), *process.environ().values()]
        except (psutil.Error, OSError):
            continue
        if process.pid != psutil.Process().pid and any(f"{folder}/" in f"{t}/" for t in texts):
            found.append(process)
    return found


if __name__ == "__main__":
    sys.stdin.buffer.read()
    processes.stop([process.pid for process in running_in(sys.argv[1])], GRACE_SECONDS)

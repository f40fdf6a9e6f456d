"""Commands on one sandbox take turns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from gpufleet_sandbox.errors import SandboxError

WAIT_SECONDS = 1800.0
"""Seconds that a command waits for another one on the same sandbox: a deployment takes minutes."""


@contextmanager
def turn(file: Path, what: str, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock `file`, once its holder has ended.

    Args:
        file: the lock, in a folder that exists.
        what: what its holder does, to follow "another command".
        note: called when there is something to wait for.

    Raises:
        SandboxError: the holder does not end within `WAIT_SECONDS`.
    """
    lock = FileLock(file, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        note(f"another command {what}; waiting for it")
        try:
            lock.acquire(timeout=WAIT_SECONDS)
        except Timeout:
            raise SandboxError(
                f"another command {what}, for {WAIT_SECONDS / 60:.0f} minutes by now; end it and "
                "try again"
            ) from None
    try:
        yield
    finally:
        lock.release()

"""More calls at a time than the four that the SDK allows.

`python -m pulumi.dynamic` serves every dynamic resource of a program with a pool of four threads
(3.272.0), and has no setting for it. A call here waits for vCenter nearly all of its time: with
four, `rolloutWidth` and the engine's own `--parallel` would mean nothing above that. How many
machines are worked on together is theirs to say, so the pool is made large enough for both.
"""

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

LARGEST = 64
"""Threads: as many as the largest `rolloutWidth`. They are started when calls wait for one."""


def allow_more_calls(most: int = LARGEST) -> bool:
    """Let the pool whose thread runs this have more threads. Returns whether there is such a pool.

    The pool belongs to the SDK and is reached through its thread. Where a later version serves its
    calls in another way, nothing is changed, and they come as that version lets them.

    Args:
        most: Threads the pool may have. A pool that is larger already stays as it is.
    """
    pool = _pool_of(threading.current_thread())
    if pool is None:
        return False
    had = pool._max_workers
    pool._max_workers = max(had, most)
    # A pool starts a thread when work is given to it: calls that wait already would go on waiting.
    for _ in range(pool._max_workers - had):
        pool.submit(int)
    return True


def _pool_of(thread: threading.Thread) -> ThreadPoolExecutor | None:
    """The pool that started a thread: it hands each of them a weak reference to itself."""
    arguments = getattr(thread, "_args", ())
    first = arguments[0] if arguments else None
    pool = first() if isinstance(first, weakref.ref) else None
    return pool if isinstance(pool, ThreadPoolExecutor) else None

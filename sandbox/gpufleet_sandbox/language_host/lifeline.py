"""Ends this process when its parent process has ended, by any cause.

The parent holds the write end of the pipe that is our standard input and never writes to it, so the
operating system itself reports the parent's end, `kill -9` included, as end of file. This works
on Linux and macOS and does not depend on which thread of the parent started us.
"""

import os
import stat
import threading
from collections.abc import Callable

PARENT_GONE = 143
"""Exit status of a process that ended because its parent did (what SIGTERM would give)."""


def hold(on_end: Callable[[], None] | None = None) -> bool:
    """Watch standard input, then give the process an empty one in its place.

    `on_end` runs first when the parent is gone; afterwards the process leaves without clean-up.
    Returns False, and watches nothing, when standard input is not a pipe (started by hand).
    """
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(0).st_mode)
    except OSError:
        return False
    if not is_pipe:
        return False
    watched = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)

    def watch() -> None:
        while os.read(watched, 4096):
            pass
        if on_end is not None:
            on_end()
        os._exit(PARENT_GONE)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
    return True

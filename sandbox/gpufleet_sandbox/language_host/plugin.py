"""Runs Python code that is a plugin of the engine: policy packs, components, dynamic providers."""

import os
import runpy
import sys

INTERRUPTED = 130


def run(role: str, arguments: list[str]) -> int:
    """Run `arguments[0]` as `python -m` (role `module`) or `python FOLDER` (role `path`) would.

    Plugins serve until they are interrupted; that is their regular end and leaves no traceback.
    """
    target = arguments[0]
    sys.argv = list(arguments)
    try:
        if role == "module":
            sys.path.insert(0, str(os.getcwd()))  # noqa: PTH109 - what `python -m` does
            runpy.run_module(target, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(target, run_name="__main__")
    except KeyboardInterrupt:
        # gRPC worker threads may be in a call; waiting for them is what makes an end slow.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    return 0

"""Entry of the language host and of the children it starts.

Started by path, `python -u .../language_host/__main__.py ROLE ...`, never with `-m`: importing
`gpufleet` would load the SDK and cost more than the whole start-up of the host. The files next to
this one become a private package, so that none of them can shadow a module of the program.
"""

import atexit
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

PACKAGE = "_gpufleet_language_host"


def _sibling(name: str) -> ModuleType:
    """Import one of the files next to this one under the private package name."""
    folder = Path(__file__).resolve().parent
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        package = importlib.util.module_from_spec(spec)
        sys.modules[PACKAGE] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{PACKAGE}.{name}")


def main(arguments: list[str]) -> int:
    """Run the role `arguments[0]`: `serve`, `program`, `module` or `path`."""
    role, rest = arguments[0], arguments[1:]
    # Python put this folder first on the module search path; the program must not see it.
    sys.path.pop(0)
    if role == "serve":
        return _sibling("server").serve(rest)
    _sibling("lifeline").hold()
    if role == "program":
        return _leave_quickly(lambda: _sibling("program").run(rest))
    return _sibling("plugin").run(role, rest)


def _leave_quickly(run: Callable[[], int]) -> int:
    """Run, and skip the interpreter's own clean-up afterwards: 0.1 s and more per command.

    Handlers registered by anybody else run as usual, and non-daemon threads are waited for: exit
    handlers run last in, first out, and ours is the first in. A program that leaves by an
    exception, `sys.exit` among them, takes the regular way.
    """
    status: list[int] = []

    def leave() -> None:
        if status:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status[0])

    atexit.register(leave)
    status.append(run())
    return status[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

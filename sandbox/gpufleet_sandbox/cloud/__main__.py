"""The plugin process: `python -m gpufleet_sandbox.cloud aws ENGINE_ADDRESS`.

The first line on standard output is the port; the engine waits for it and shows what follows.
"""

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from gpufleet.installation import install_command
from gpufleet_sandbox.cloud.server import cloud_of, serving
from gpufleet_sandbox.cloud.store import FOLDER_VARIABLE, CloudFolder
from gpufleet_sandbox.language_host.lifeline import hold
from gpufleet_sandbox.layout import FOLDER_VARIABLE as SANDBOX_VARIABLE


def main(arguments: list[str]) -> int:
    folder = _folder()
    if folder is None:
        print(
            f"where is the stand-in's cloud? Set {FOLDER_VARIABLE}, or {SANDBOX_VARIABLE}",
            file=sys.stderr,
        )
        return 2
    # The engine sends SIGINT when it is done, and waits: leave at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        cloud = cloud_of(arguments[0], CloudFolder(folder))
    except ModuleNotFoundError as problem:
        print(
            f"the stand-in of {arguments[0]} requires {problem.name}, which is not installed: "
            f"`{install_command('clouds', sandbox=True)}`",
            file=sys.stderr,
        )
        return 2
    hold()  # an engine that was killed sends nothing
    with serving(cloud) as port:
        print(port, flush=True)
        while True:
            signal.pause()


def _folder() -> Path | None:
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named)
    if sandbox := os.environ.get(SANDBOX_VARIABLE):
        return Path(sandbox) / "cloud"
    return None


def _leave(_number: int, _frame: object) -> NoReturn:
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

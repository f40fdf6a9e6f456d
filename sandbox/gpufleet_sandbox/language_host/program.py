"""Runs a Pulumi program: the child's side of the `Run` call.

Connects the SDK to the engine and to the resource monitor, then executes the program inside a
stack resource. An error of the program is reported here, once, through the engine's log; the exit
status then tells the host that it must not report it again.
"""

import argparse
import asyncio
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

EXPLAINED = 32
"""Exit status of a failure that was already reported; the vendor's executor uses the same."""
INTERRUPTED = 130
THREADS_PER_OPERATION = 4
"""Worker threads per parallel resource operation; each call to the engine waits in one."""


def run(arguments: list[str]) -> int:
    """Run the program that the arguments describe; returns the exit status."""
    given = _parser().parse_args(arguments)
    try:
        import pulumi
        import pulumi.runtime
    except ImportError as error:
        print(
            f"the Pulumi SDK cannot be imported by {sys.executable} ({error}); install the "
            "package 'pulumi' there, or name the environment that has it in Pulumi.yaml "
            "(runtime.options.virtualenv)",
            file=sys.stderr,
        )
        return EXPLAINED

    runtime = pulumi.runtime
    runtime.set_all_config(runtime.get_config_env(), runtime.get_config_secret_keys_env())
    runtime.configure(
        runtime.Settings(
            monitor=given.monitor,
            engine=given.engine,
            project=given.project,
            stack=given.stack,
            parallel=given.parallel,
            dry_run=given.dry_run,
            organization=given.organization,
            root_directory=given.root_directory,
        )
    )

    entry = Path(given.program).resolve()
    if entry.is_dir() and not (entry / "__main__.py").is_file():
        pulumi.log.error(f"there is no program in {entry}: the file __main__.py is missing")
        return EXPLAINED
    if not entry.exists():
        pulumi.log.error(f"the program {entry} does not exist; see `main` in Pulumi.yaml")
        return EXPLAINED
    if entry.is_file():
        # A folder is put on the module search path by runpy itself, a file's folder is not.
        sys.path.insert(0, str(entry.parent))
    sys.argv = [given.program, *given.arguments]

    # A failed program leaves tasks whose results are never read, and asyncio would complain about
    # each of them below the error that matters.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    workers = ThreadPoolExecutor(max(given.parallel, 1) * THREADS_PER_OPERATION)
    loop.set_default_executor(workers)
    try:
        loop.run_until_complete(
            runtime.run_in_stack(lambda: _discard(runpy.run_path(str(entry), run_name="__main__")))
        )
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return EXPLAINED
    except KeyboardInterrupt:
        # Worker threads may be waiting for an engine that is leaving; nothing waits for them.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever the program raised is its error
        pulumi.log.error(
            "the program failed:\n" + program_traceback(error, entry),
        )
        return EXPLAINED
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    workers.shutdown(wait=True)
    loop.close()
    return 0


def program_traceback(error: BaseException, entry: Path) -> str:
    """The traceback of `error` from the first line of the program on, without the machinery above.

    `entry` is the program's file or folder. An error that never passed through it is given whole.
    """
    folder = entry if entry.is_dir() else entry.parent
    if isinstance(error, SyntaxError) and error.filename and _within(error.filename, folder):
        return "".join(traceback.format_exception_only(error))
    first: TracebackType | None = error.__traceback__
    while first is not None and not _within(first.tb_frame.f_code.co_filename, folder):
        first = first.tb_next
    trace = first or error.__traceback__
    return "".join(traceback.format_exception(type(error), error, trace))


def _within(filename: str, folder: Path) -> bool:
    # Python's own frozen modules are named "<frozen ...>", which would count as a relative path.
    return not filename.startswith("<") and Path(filename).resolve().is_relative_to(folder)


def _discard(_: object) -> None:
    """Keep the program's globals out of the SDK, which takes a returned value for an awaitable."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="program")
    for name in ("monitor", "engine", "project", "stack", "organization", "root_directory"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--dry_run", action="store_true")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser

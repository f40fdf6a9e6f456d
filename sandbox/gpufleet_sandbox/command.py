"""`gpufleet sandbox`: a real control plane with simulated GPU nodes on this machine."""

import errno
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

import click

from gpufleet.cli.explain import pools_as_text
from gpufleet.cli.output import format_option, print_json
from gpufleet.cli.source import compile_source
from gpufleet_sandbox import bootstrap, engine, environment
from gpufleet_sandbox.engine_result import EngineError
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.programs import SANDBOX_PROGRAMS
from gpufleet_sandbox.progress import terminal_progress
from gpufleet_sandbox.sandbox import Sandbox
from gpufleet_sandbox.status_tables import print_status

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _directory_option(function: _Function) -> _Function:
    return click.option(
        "--dir",
        "directory",
        type=click.Path(file_okay=False, path_type=Path),
        help="Sandbox folder. Default: $GPUFLEET_SANDBOX, else .sandbox next to the nearest "
        "Pulumi.yaml upwards, else .sandbox here.",
    )(function)


@click.group("sandbox")
def command() -> None:
    """A Kubernetes control plane on this machine, to try a fleet without a cloud.

    etcd, API server, controller manager and scheduler are the real ones; nodes and pods are
    simulated by kwok, GPUs by small programs that read what a real operator would read. No
    container, no root, nothing outside one folder; everything listens on 127.0.0.1 only.

    \b
    gpufleet sandbox up       start, or repair whatever died
    . .sandbox/env            PATH, KUBECONFIG and the engine's settings for this shell
    kubectl get nodes         or: pulumi up
    gpufleet sandbox down     stop; the data stays
    """


@command.command("up")
@_directory_option
@click.option(
    "--deploy",
    "stack",
    metavar="STACK",
    help="Then run `pulumi up` of this stack of the project in the current folder.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=120.0,
    show_default=True,
    help="Seconds for the control plane to become ready, building of programs not counted.",
)
@format_option
def up(directory: Path | None, stack: str | None, timeout: float, output_format: str) -> None:
    """Start the sandbox, or repair it.

    Running it again changes nothing that runs as it should; whatever died, hangs or has another
    configuration is started again. The first time, programs that are neither installed nor
    downloadable are built from source, which takes minutes; they are cached for all sandboxes.
    Ctrl-C stops what this command started and leaves nothing half-made.
    """
    if stack is not None and output_format == "text" and not bootstrap.are_ready(SANDBOX_PROGRAMS):
        _show_fleet(stack)
    with _session(directory) as sandbox:
        sandbox.up(timeout=timeout)
        if stack is not None:
            # The engine speaks on standard output; a document must be alone there.
            engine.deploy(sandbox, stack, out=sys.stderr if output_format == "json" else None)
        status = sandbox.status()
        if output_format == "json":
            print_json(status.as_dict())
            return
        if stack is not None:
            return  # the deployment's table ends with how to go on
        print_status(status)
        click.echo("\nTo use it in this shell:")
        click.echo(f"    . {shlex.quote(_short(sandbox.layout.environment))}")
        click.echo("then kubectl, pulumi and helm work on it; `gpufleet sandbox down` stops it.")


def _show_fleet(stack: str) -> None:
    """Something to read while programs are built: the fleet of a stack, as `explain` draws it."""
    for folder in (Path("stacks"), Path()):
        file = folder / f"Pulumi.{stack}.yaml"
        if file.is_file():
            click.echo(f"While programs are built, `gpufleet explain {file}`:\n")
            fleet = compile_source(str(file), None, None).fleet
            click.echo("" if fleet is None else pools_as_text(fleet, fleet.pools))
            return


@command.command("down")
@_directory_option
@format_option
def down(directory: Path | None, output_format: str) -> None:
    """Stop every process of the sandbox and free its ports. The data stays for the next `up`."""
    with _session(directory) as sandbox:
        sandbox.down()
        _print_end(sandbox.layout.root, output_format, "stopped")


@command.command("reset")
@_directory_option
@format_option
def reset(directory: Path | None, output_format: str) -> None:
    """Stop the sandbox and delete its data.

    Cluster objects, stacks, certificates and logs go; cached programs stay. Stacks deployed to a
    real cloud are not in here and are not touched.
    """
    with _session(directory) as sandbox:
        sandbox.reset()
        _print_end(sandbox.layout.root, output_format, "reset")


@command.command("status")
@_directory_option
@format_option
def status(directory: Path | None, output_format: str) -> None:
    """Show processes, ports, nodes, and where each pod landed.

    Exits 1 when the sandbox does not run as a whole.
    """
    with _session(directory) as sandbox:
        found = sandbox.status()
        if output_format == "json":
            print_json(found.as_dict())
        else:
            print_status(found)
        sys.exit(0 if found.running else 1)


@command.command("programs")
@click.argument("names", nargs=-1, metavar="[PROGRAM]...")
@format_option
def programs(names: tuple[str, ...], output_format: str) -> None:
    """Prepare the programs and print their paths; start nothing.

    Each is taken from PATH when its version is accepted, else from the cache, else downloaded from
    its vendor (GPUFLEET_NO_DOWNLOAD=1 disables that), else built with Go from pinned modules.
    Default: the programs that `up` needs. Others, such as pulumi-language-yaml, are also added to
    the PATH of the sandbox when there is a sandbox. The cache is ~/.cache/gpufleet/programs, or
    $GPUFLEET_CACHE/programs.
    """
    with _session(None) as sandbox:
        if names:
            found = sandbox.add(names)
        else:
            found = bootstrap.prepare(SANDBOX_PROGRAMS, sandbox.progress)
        if output_format == "json":
            print_json({name: str(path) for name, path in found.items()})
            return
        width = max(map(len, found))
        for name, path in found.items():
            click.echo(f"{name:{width}}  {path}")


@command.command("env")
@_directory_option
@format_option
def env(directory: Path | None, output_format: str) -> None:
    """Print the lines that point a shell at the sandbox.

    `eval "$(gpufleet sandbox env)"` runs them. The same lines are in the file `env` of the sandbox
    folder. They hold paths, no secrets.
    """
    with _session(directory) as sandbox:
        if output_format == "json":
            document = environment.variables(sandbox.layout)
            print_json({"PATH": str(sandbox.layout.bin), **document})
        else:
            click.echo(environment.shell(sandbox.layout), nl=False)


@contextmanager
def _session(directory: Path | None) -> Iterator[Sandbox]:
    """A sandbox that reports to the terminal; its errors become one text and exit code 1."""
    # A polite kill gets the same clean end as Ctrl-C.
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        with terminal_progress() as progress:
            yield Sandbox(directory, progress=progress)
    except (SandboxError, EngineError) as problem:
        click.echo(f"gpufleet: {problem}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        raise  # the reader of the output has closed, which the program handles
    except OSError as problem:
        click.echo(f"gpufleet: {_reason(problem)}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        click.echo("\ngpufleet: interrupted; run it again to go on", err=True)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _reason(problem: OSError) -> str:
    """The file that could not be used and why, and what to do if the disk is full."""
    # Of two files, such as those of a copy, the second is the one that was written.
    text = f"{problem.filename2 or problem.filename or 'a file'}: {problem.strerror or problem}"
    if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
        return text
    return f"{text}; free some, or name a folder elsewhere with --dir or GPUFLEET_CACHE"


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _print_end(root: Path, output_format: str, word: str) -> None:
    if output_format == "json":
        print_json({"directory": str(root), "running": False, "action": word})
    else:
        click.echo(f"{_short(root)}: {word}")


def _short(path: Path) -> str:
    """Relative to the current folder when it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

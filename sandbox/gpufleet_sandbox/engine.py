"""The Pulumi engine's command line as typed calls.

For tests and for `gpufleet sandbox up --deploy`. Nothing is deployed here: every change is made by
`pulumi` itself, exactly as a person would type it.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gpufleet_sandbox.engine_result import EngineError, Result
from gpufleet_sandbox.errors import SandboxError

if TYPE_CHECKING:
    from gpufleet_sandbox.sandbox import Sandbox

__all__ = ["EngineError", "PulumiEngine", "Result", "deploy"]

WORKLOADS = Path("examples/workloads")
"""Project, below the repository, whose program runs the example workloads."""
WORKLOADS_STACK = "sandbox"


class PulumiEngine:
    """The CLI in one project folder and environment.

    Args:
        env: the complete environment, such as `Sandbox.environment()`.
        cwd: folder of the project, or below it.
        echo: where the engine's output is shown as it comes; None shows nothing.

    Raises:
        SandboxError: there is no `pulumi` on the PATH of `env`.
    """

    def __init__(self, env: Mapping[str, str], cwd: Path, *, echo: TextIO | None = None) -> None:
        self.cwd = cwd
        self.env = {
            **env,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            # Without it the engine hides its option --event-log.
            "PULUMI_DEBUG_COMMANDS": "true",
        }
        self._echo = echo
        program = shutil.which("pulumi", path=self.env.get("PATH"))
        if program is None:
            raise SandboxError("there is no `pulumi` on PATH; `gpufleet sandbox programs` makes it")
        self._program = program

    def stacks(self) -> list[str]:
        """Names of this project's stacks in the backend."""
        return [entry["name"].rsplit("/", 1)[-1] for entry in self._json("stack", "ls")]

    def stack_init(self, stack: str) -> None:
        """Create the stack when it does not exist. Which stack is selected does not change."""
        made = self.call(["stack", "init", stack, "--no-select"])
        # One that exists is refused in more than one way: it may be locked as well.
        if made.status != 0 and stack not in self.stacks():
            made.checked()

    def preview(self, stack: str, *options: str, **settings: Any) -> Result:
        """Changes that `up` would make. `operate` explains the settings."""
        return self.operate("preview", stack, *options, **settings)

    def up(self, stack: str, *options: str, **settings: Any) -> Result:
        """Update the stack to the program, without a preview first."""
        return self.operate("up", stack, "--yes", "--skip-preview", *options, **settings)

    def destroy(self, stack: str, *options: str, **settings: Any) -> Result:
        """Delete every resource of the stack."""
        return self.operate("destroy", stack, "--yes", "--skip-preview", *options, **settings)

    def refresh(self, stack: str, *options: str, **settings: Any) -> Result:
        """Bring the state to what the providers find."""
        return self.operate("refresh", stack, "--yes", "--skip-preview", *options, **settings)

    def operate(
        self,
        command: str,
        stack: str,
        *options: str,
        policies: Iterable[Path] = (),
        config: Mapping[str, str] | None = None,
        check: bool = True,
        timeout: float | None = None,
    ) -> Result:
        """Run a command whose events are read.

        Args:
            command: `preview`, `up`, `destroy` or `refresh`.
            stack: the stack's name.
            options: further command-line options.
            policies: folders of policy packs.
            config: settings; the engine also saves them in the stack's file.
            check: raise when the command fails.
            timeout: seconds after which the engine is interrupted; None waits for ever.

        Raises:
            EngineError: the command failed and `check` is set.
        """
        arguments = [command, "--stack", stack, *options]
        for folder in policies:
            arguments += ["--policy-pack", str(folder)]
        for key, value in (config or {}).items():
            arguments += ["--config", f"{key}={value}"]
        with tempfile.TemporaryDirectory(prefix="gpufleet-events-") as folder:
            log = Path(folder) / "events"
            result = self.call([*arguments, "--event-log", str(log)], timeout=timeout)
            result = result.with_events(log)
        return result.checked() if check else result

    def outputs(self, stack: str) -> dict[str, Any]:
        """The stack's outputs; secrets read `[secret]`."""
        return self._json("stack", "output", "--stack", stack)

    def state(self, stack: str) -> dict[str, Any]:
        """The stack's recorded deployment; secrets stay encrypted."""
        return self._json("stack", "export", "--stack", stack, option=None).get("deployment") or {}

    def call(self, arguments: Sequence[str], *, timeout: float | None = None) -> Result:
        """Run any command to its end, whatever its result.

        An interrupt is passed on once, and the engine may finish its operation. It runs in its own
        process group: a terminal would interrupt it a second time, and then it stops at once.
        everything.
        """
        begun = time.monotonic()
        process = self._start(arguments, subprocess.STDOUT)
        assert process.stdout is not None
        limit = threading.Timer(timeout or 0, process.send_signal, [signal.SIGINT])
        if timeout is not None:
            limit.start()
        output: list[str] = []
        try:
            for line in process.stdout:
                output.append(line)
                if self._echo is not None and _worth_showing(line):
                    print(f"    {line}", end="", file=self._echo, flush=True)
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise
        finally:
            limit.cancel()
            process.stdout.close()
        return Result(
            command=" ".join(["pulumi", *_as_typed(arguments)]),
            status=process.returncode,
            seconds=time.monotonic() - begun,
            output="".join(output),
        )

    def _json(self, *arguments: str, option: str | None = "--json") -> Any:
        """Standard output of a command, parsed; warnings on standard error do not disturb it."""
        given = [*arguments, *([option] if option else [])]
        process = self._start(given, subprocess.PIPE)
        output, errors = process.communicate()
        Result(" ".join(["pulumi", *given]), process.returncode, 0.0, errors).checked()
        return json.loads(output)

    def _start(self, arguments: Sequence[str], errors: int) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self._program, *arguments, "--non-interactive", "--color", "never"],
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
            process_group=0,
        )


_PASSING = re.compile(r"^\s*$|^@|(creating|updating|deleting|refreshing|reading) \(\d+s\)")
"""Lines that a later line makes superfluous; a terminal would overwrite them."""


def _worth_showing(line: str) -> bool:
    return not _PASSING.search(line)


def deploy(
    sandbox: "Sandbox", stack: str, *, project: Path | None = None, out: TextIO | None = None
) -> dict[str, Result]:
    """Steps of `make up` after the start of the control plane: `pulumi up`, twice, and a table.

    A stack that a killed engine left locked or half recorded is repaired first. The policy pack in
    `policies/` validates the fleet if it exists; the example workloads follow if they exist.

    Args:
        sandbox: a running sandbox.
        stack: stack of the project; created when missing.
        project: folder of Pulumi.yaml; default: the nearest one from the current folder upwards.
        out: target of progress and table; default: standard output.

    Returns:
        The result of each update, by stack.

    Raises:
        SandboxError: no project here, or another engine works on the stack.
        EngineError: an update failed.
    """
    from rich.console import Console

    from gpufleet_sandbox.report import print_report

    shown = out or sys.stdout
    root = project or _nearest_project(Path.cwd())
    pack = root / "policies"
    packs = [pack] if (pack / "PulumiPolicy.yaml").is_file() else []
    workloads = root / WORKLOADS
    with sandbox.deploying():
        results = {stack: _update(sandbox, root, stack, packs, shown)}
        if (workloads / "Pulumi.yaml").is_file():
            results[WORKLOADS_STACK] = _update(sandbox, workloads, WORKLOADS_STACK, [], shown)
    print_report(sandbox, None if out is None else Console(file=out))
    return results


def _update(
    sandbox: "Sandbox", project: Path, stack: str, packs: list[Path], out: TextIO
) -> Result:
    from gpufleet_sandbox.checkpoints import restore_cut_off_checkpoints
    from gpufleet_sandbox.stack_repair import repair

    def note(line: str) -> None:
        print(f"    {line}", file=out, flush=True)

    print(f"==> pulumi up -s {stack}  (in {project})", file=out, flush=True)
    quiet = PulumiEngine(sandbox.environment(), project)
    restore_cut_off_checkpoints(quiet.env["PULUMI_BACKEND_URL"], note)
    quiet.stack_init(stack)
    repair(quiet, stack, sandbox.server(), note)
    engine = PulumiEngine(sandbox.environment(), project, echo=out)
    result = engine.up(stack, "--suppress-outputs", policies=packs)
    print(f"    {result.summary()}, {result.seconds:.0f} s", file=out, flush=True)
    return result


def _nearest_project(start: Path) -> Path:
    for folder in (start, *start.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    raise SandboxError(f"there is no Pulumi.yaml in {start} or above it; change to the project")


def _as_typed(arguments: Sequence[str]) -> list[str]:
    """The arguments without our event log, and without values that may be secret."""
    shown: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == "--event-log":
            skip = True
        elif argument == "--config":
            shown += ["--config", "..."]
            skip = True
        else:
            shown.append(argument)
    return shown

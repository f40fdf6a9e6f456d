"""The Pulumi engine's command line as typed calls.

For tests and for `gpufleet sandbox up --deploy`. Nothing is deployed here: every change is made by
`pulumi` itself, exactly as a person would type it.
"""

import json
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from gpufleet.sandbox.engine_result import EngineError, Result
from gpufleet.sandbox.errors import SandboxError

__all__ = ["Engine", "EngineError", "Result"]


class Engine:
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
        if stack not in self.stacks():
            self.call(["stack", "init", stack, "--no-select"]).checked()

    def stack_remove(self, stack: str) -> None:
        """Remove a stack that has no resources, and its settings file."""
        self.call(["stack", "rm", stack, "--yes"]).checked()

    def preview(self, stack: str, *options: str, **settings: Any) -> Result:
        """What `up` would do. `operate` explains the settings."""
        return self.operate("preview", stack, *options, **settings)

    def up(self, stack: str, *options: str, **settings: Any) -> Result:
        """Bring the stack to what the program says, without a preview first."""
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
        """Run any command to its end, whatever the end is.

        An interrupt is passed on once, and the engine may finish what it is doing. It runs in a
        process group of its own: a terminal would interrupt it a second time, and then it drops
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
                if self._echo is not None and line.strip():
                    print(line, end="", file=self._echo, flush=True)
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

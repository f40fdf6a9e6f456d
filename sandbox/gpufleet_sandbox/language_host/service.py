"""The engine's calls to a language host, for Python."""

# The protocol names the methods and hands each a request and a context, needed or not.
# ruff: noqa: N802, ARG002

import json
import os
import queue
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import grpc
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import language_pb2 as messages
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2

from . import dependencies
from .children import Children
from .interpreter import Interpreter, OptionError, resolve
from .program import EXPLAINED

if TYPE_CHECKING:
    import subprocess

VARIABLE_LIMIT = 128 * 1024 - 1
"""Bytes of one environment variable on Linux (MAX_ARG_STRLEN), name included."""

NOT_OFFERED = {
    "GetRequiredPlugins": "GetRequiredPackages answers instead",
    "RuntimeOptionsPrompts": "it asks nothing when a project is made",
    "Template": "it changes nothing in a new project",
    "GenerateProgram": "it generates no code",
    "GenerateProject": "it generates no code",
    "GeneratePackage": "it generates no SDKs; Python programs import component packages directly",
    "Pack": "it builds no distributions; use `python -m build`",
    "Link": "it generates no SDKs; Python programs import component packages directly",
}
"""Calls this host leaves to the vendor's, each with what to do instead."""


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Serves one engine; the caller that ends the host ends the `children`."""

    def __init__(self, engine: str, children: Children) -> None:
        self._engine = engine
        self._children = children
        self._programs: set[subprocess.Popen[bytes]] = set()

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Note the engine's address; sent by engines that attach to a running host."""
        self._engine = request.engine_address
        return messages.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The version of the SDK in this environment: the host has no version of its own."""
        return plugin_pb2.PluginInfo(version=dependencies.sdk_version())

    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Nothing in advance: the engine finds a plugin when the first resource needs it.

        Naming every provider whose SDK is installed would make the engine look for plugins that
        the program never uses.
        """
        return messages.GetRequiredPackagesResponse()

    def Run(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Run the program to its end."""
        if request.attach_debugger:
            return messages.RunResponse(
                error="this language host cannot attach a debugger; import debugpy in the program"
            )
        variables = dict(os.environ)
        variables["PULUMI_CONFIG"] = json.dumps(dict(request.config))
        variables["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
        size = len("PULUMI_CONFIG=") + len(variables["PULUMI_CONFIG"].encode())
        if size > VARIABLE_LIMIT:
            return messages.RunResponse(
                error=f"the stack's configuration is {size} bytes as JSON; a program can be handed "
                f"at most {VARIABLE_LIMIT}: move large values into a file that the program reads"
            )
        try:
            interpreter = _interpreter(request.info)
            child = self._children.start(
                interpreter,
                ["program", *self._program_arguments(request)],
                folder=request.pwd or request.info.program_directory,
                variables=variables,
            )
        except (OptionError, OSError) as error:
            return messages.RunResponse(error=str(error))
        self._programs.add(child)
        context.add_callback(lambda: _end_in_background(self._children, child))
        status = self._children.wait(child)
        cancelled = child not in self._programs
        self._programs.discard(child)
        if cancelled:
            return messages.RunResponse(error="the program was cancelled")
        return _run_response(status)

    def _program_arguments(self, request: Any) -> list[str]:
        settings = {
            "monitor": request.monitor_address,
            "engine": self._engine,
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization,
            "root_directory": request.info.root_directory,
            "parallel": str(request.parallel),
        }
        arguments = [f"--{name}={value}" for name, value in settings.items() if value]
        if request.dryRun:
            arguments.append("--dry_run")
        return [*arguments, request.info.entry_point or ".", *request.args]

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        """End running programs; plugins are cancelled by the engine themselves."""
        from google.protobuf import empty_pb2

        running = list(self._programs)
        self._programs.difference_update(running)
        for child in running:
            self._children.end(child)
        return empty_pb2.Empty()

    def RunPlugin(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Run a policy pack or a plugin; streams its output, then its exit status."""
        if request.attach_debugger:
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED, "this language host cannot attach a debugger"
            )
        folder = request.info.program_directory
        is_pack = request.kind == "analyzer"
        try:
            interpreter = _interpreter(request.info, is_component=not is_pack)
            if is_pack:
                # The SDK's runner requires the engine's address first and the pack last.
                arguments = ["module", "pulumi.policy", *request.args, folder]
            else:
                arguments = [*dependencies.plugin_entry(Path(folder)), *request.args]
            child = self._children.start(
                interpreter,
                arguments,
                folder=folder if is_pack else request.pwd,
                variables=_variables(request.env),
                capture=True,
            )
        except (OptionError, OSError) as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            return
        context.add_callback(lambda: _end_in_background(self._children, child))
        for is_error, chunk in _output_of(child):
            if is_error:
                yield messages.RunPluginResponse(stderr=chunk)
            else:
                yield messages.RunPluginResponse(stdout=chunk)
        yield messages.RunPluginResponse(exitcode=self._children.wait(child))

    def InstallDependencies(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Make the environment that the options name and install what the folder requests."""
        try:
            for line in dependencies.install(
                _options(request.info),
                Path(request.info.root_directory),
                Path(request.info.program_directory),
            ):
                yield messages.InstallDependenciesResponse(stdout=line)
        except (OptionError, OSError) as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def About(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The interpreter that would run the program."""
        try:
            interpreter = _interpreter(request.info)
            return messages.AboutResponse(
                executable=interpreter.executable, version=dependencies.version_of(interpreter)
            )
        except (OptionError, OSError) as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))

    def GetProgramDependencies(self, request: Any, context: grpc.ServicerContext) -> Any:
        """The distributions installed for the program."""
        try:
            found = dependencies.installed(
                _interpreter(request.info), transitive=request.transitiveDependencies
            )
        except (OptionError, OSError) as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
            return None
        return messages.GetProgramDependenciesResponse(
            dependencies=[messages.DependencyInfo(name=n, version=v) for n, v in found]
        )


def _refusal(name: str, reason: str) -> Any:
    def refuse(_self: LanguageHost, _request: Any, context: grpc.ServicerContext) -> None:
        context.abort(
            grpc.StatusCode.UNIMPLEMENTED,
            f"gpufleet's Python language host does not offer {name}: {reason}",
        )

    return refuse


for _name, _reason in NOT_OFFERED.items():
    setattr(LanguageHost, _name, _refusal(_name, _reason))


def _options(info: Any) -> dict[str, object]:
    return MessageToDict(info.options)


def _interpreter(info: Any, *, is_component: bool = False) -> Interpreter:
    return resolve(
        _options(info),
        Path(info.root_directory or "."),
        Path(info.program_directory or "."),
        is_component=is_component,
    )


def _variables(entries: Any) -> Mapping[str, str]:
    given = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    return given or dict(os.environ)


def _run_response(status: int) -> Any:
    if status == 0:
        return messages.RunResponse()
    if status == EXPLAINED:
        return messages.RunResponse(bail=True)
    if status < 0:
        return messages.RunResponse(
            error=f"the program was ended by signal {-status} ({signal.strsignal(-status)})"
        )
    return messages.RunResponse(error=f"the program ended with exit status {status}")


def _end_in_background(children: Children, child: "subprocess.Popen[bytes]") -> None:
    """End a child whose call is over, cancelled or not, without holding gRPC's own thread."""
    if child.poll() is None:
        threading.Thread(target=children.end, args=(child,), daemon=True).start()


def _output_of(child: "subprocess.Popen[bytes]") -> Iterator[tuple[bool, bytes]]:
    """(whether it is an error output, chunk) as they come, until both outputs are closed."""
    chunks: queue.SimpleQueue[tuple[bool, bytes]] = queue.SimpleQueue()

    def read(is_error: bool, stream: IO[bytes]) -> None:
        with stream:
            while chunk := os.read(stream.fileno(), 65536):
                chunks.put((is_error, chunk))
        chunks.put((is_error, b""))

    streams = {False: child.stdout, True: child.stderr}
    for is_error, stream in streams.items():
        assert stream is not None
        threading.Thread(target=read, args=(is_error, stream), daemon=True).start()
    still_open = len(streams)
    while still_open:
        is_error, chunk = chunks.get()
        if chunk:
            yield is_error, chunk
        else:
            still_open -= 1

"""Registrations of a Pulumi program, with whole URNs, without an engine.

Only the SDK's own mock of the engine is used, and public names of gpufleet.
"""

import asyncio
import hashlib
import json
import os
import re
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pulumi
from google.protobuf import json_format
from pulumi.runtime import mocks
from pulumi.runtime.proto import resource_pb2

import gpufleet
from gpufleet.testing import ANSWERED, MADE
from tests.recorded.programs import OUTPUTS, Program, load_yaml

STACK = "pulumi:pulumi:Stack"
REFERENCE = "pulumi:pulumi:StackReference"
COMPUTED: dict[str, dict[str, Any]] = {
    **{
        f"aws:{type_}": MADE[f"aws:{type_}"]
        for type_ in (
            "ec2/launchTemplate:LaunchTemplate",
            "ec2/placementGroup:PlacementGroup",
            "eks/nodeGroup:NodeGroup",
            "iam/role:Role",
            "sqs/queue:Queue",
            "cloudwatch/eventRule:EventRule",
        )
    },
    REFERENCE: {"outputs": OUTPUTS, "secretOutputNames": []},
}
"""Outputs that only a cloud knows, by type."""
OPTIONS = (
    "ignoreChanges",
    "replaceOnChanges",
    "deleteBeforeReplace",
    "retainOnDelete",
    "protect",
    "importId",
    "additionalSecretOutputs",
    "aliasURNs",
    "customTimeouts",
    "deletedWith",
    "hideDiffs",
    "replaceWith",
)
"""Options of a registration that are recorded where they are set."""

_CHARTS = re.compile(r'"/[^"]*/charts/(?=[a-z0-9-]+")')


class _Echo(mocks.Mocks):
    """Every resource comes back with its inputs."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        return f"{args.name}-id", {**args.inputs, **COMPUTED.get(args.typ, {})}

    def call(self, args: mocks.MockCallArgs) -> dict[Any, Any]:
        return ANSWERED[args.token]


class _Monitor(mocks.MockMonitor):
    """Keeps what is registered, by URN. The URNs are those of the engine."""

    def __init__(self, stand_in: mocks.Mocks) -> None:
        super().__init__(stand_in)
        self.registered: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        """The engine names the types of all parents but the stack; the SDK's mock does not."""
        chain = [] if f"::{STACK}::" in parent or not parent else [parent.split("::")[2]]
        return super().make_urn("", "$".join([*chain, type_]), name)

    def RegisterResource(self, request: Any) -> Any:
        assert isinstance(request, resource_pb2.RegisterResourceRequest)
        if request.type != STACK:
            urn = self.make_urn(request.parent, request.type, request.name)
            with self._lock:
                assert urn not in self.registered, f"{urn} is registered twice"
                self.registered[urn] = _recorded(request)
        with _closing_its_loop():
            return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any) -> Any:
        outputs = json_format.MessageToDict(request.outputs)
        with self._lock:
            if request.urn in self.registered and outputs:
                self.registered[request.urn]["outputs"] = whole(outputs)
        return super().RegisterResourceOutputs(request)

    def ReadResource(self, request: Any) -> Any:
        with _closing_its_loop():
            return super().ReadResource(request)

    def Invoke(self, request: Any) -> Any:
        with _closing_its_loop():
            return super().Invoke(request)


@contextmanager
def _closing_its_loop() -> Iterator[None]:
    """The SDK's mock opens an event loop in each worker thread and leaves it open."""
    try:
        yield
    finally:
        if threading.current_thread() is not threading.main_thread():
            with suppress(RuntimeError):  # it opened none
                asyncio.get_event_loop().close()
            asyncio.set_event_loop(None)


def _recorded(request: Any) -> dict[str, Any]:
    options = json_format.MessageToDict(request)
    provider = request.provider.rsplit("::", 1)[0]
    found = {
        "type": request.type,
        "name": request.name,
        "parent": "" if f"::{STACK}::" in request.parent else request.parent,
        "inputs": whole(json_format.MessageToDict(request.object)),
        "dependsOn": sorted(set(request.dependencies)),
        "provider": provider,
        "aliases": options.get("aliases", []),
        **{key: options[key] for key in OPTIONS if key in options},
    }
    return {key: value for key, value in found.items() if value not in ("", [], {})}


def whole(value: Any) -> Any:
    """Numbers cross the engine's interface as floats."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def registered(program: Program, folder: Path) -> dict[str, Any]:
    """URN -> what the program registers for it, sorted.

    Args:
        program: The program.
        folder: An empty folder that is the home of its user and the root of its project. Its path
            is replaced by `<home>`, and that of the sandbox's charts by `<charts>`.
    """
    for kubeconfig in (".kube/lab", ".kube/ocp-lab", ".sandbox/kubeconfig"):
        file = folder / kubeconfig
        file.parent.mkdir(exist_ok=True)
        file.write_text("")
    found = run(program, folder)
    text = json.dumps(found, sort_keys=True).replace(str(folder), "<home>")
    document = json.loads(_CHARTS.sub('"<charts>/', text))
    return _digested(document, program.longest)


def _digested(value: Any, longest: int) -> Any:
    """The same with longer texts as their SHA-256."""
    if isinstance(value, dict):
        return {key: _digested(item, longest) for key, item in value.items()}
    if isinstance(value, list):
        return [_digested(item, longest) for item in value]
    if isinstance(value, str) and len(value) > longest:
        return f"sha256:{hashlib.sha256(value.encode()).hexdigest()}"
    return value


def run(
    program: Program, home: Path, stand_in: mocks.Mocks | None = None, *, preview: bool = False
) -> dict[str, Any]:
    """Run a program of a folder against a mock. Default: one with the outputs of a cloud."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    stand_in = stand_in or _Echo()
    monitor = _Monitor(stand_in)
    mocks.set_mocks(
        stand_in, project=program.project, stack=program.stack, preview=preview, monitor=monitor
    )
    pulumi.runtime.settings.SETTINGS.root_directory = str(home)
    pulumi.runtime.set_all_config(
        {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in program.config.items()
        },
        sorted(program.secrets),
    )
    python = (program.folder / "__main__.py").is_file()
    body = _python_program(program) if python else _yaml_program(program)
    known = {"HOME": str(home), "KUBECONFIG": "kubeconfig", "GPUFLEET_SANDBOX": ".sandbox"}
    before = {key: os.environ.get(key) for key in known}
    os.environ.update(known)
    try:
        pulumi.runtime.test(body)()
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
        pulumi.runtime.set_all_config({})
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        asyncio.set_event_loop(None)
    return monitor.registered


def _python_program(program: Program) -> Callable[[], None]:
    def body() -> None:
        folder = str(program.folder)
        before = set(sys.modules)
        sys.path.insert(0, folder)
        try:
            runpy.run_path(f"{folder}/__main__.py", run_name="__main__")
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]

    return body


def _yaml_program(program: Program) -> Callable[[], None]:
    """The fleet of a YAML program, as the component host makes it."""

    def body() -> None:
        import pulumi_kubernetes as kubernetes

        resources = load_yaml(program.folder / "Pulumi.yaml")["resources"]
        cluster = kubernetes.Provider(
            "cluster", kubeconfig="kubeconfig", cluster_identifier="sandbox"
        )
        options = pulumi.ResourceOptions(providers=[cluster])
        gpufleet.GpuFleet("fleet", resources["fleet"]["properties"], options)

    return body

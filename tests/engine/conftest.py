"""One control plane and one engine environment for the whole run; a stack and namespace per test.

Every test below this folder is marked `engine`. Two processes may run them, each with its own
control plane, when each takes whole files (`--dist loadfile`); more would start more control
planes than the tests of a file justify.
"""

import json
import os
import re
import shutil
import textwrap
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import psutil
import pytest

from gpufleet_sandbox import environment, installation
from gpufleet_sandbox.engine import PulumiEngine, Result
from gpufleet_sandbox.installed_programs import find
from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.program_cache import CachedProgram, cache_folder, go_platform, key
from gpufleet_sandbox.programs import SANDBOX_PROGRAMS, ProviderPlugin, named
from gpufleet_sandbox.sandbox import Sandbox
from gpufleet_sandbox.tools_folder import tools_folder
from tests.clouds import Clouds, stand_in_clouds
from tests.engine.left_behind import ended_with_us
from tests.engine.namespaces import make_namespace
from tests.engine.order_of_files import NIGHTLY, long_ones_first, tier_of
from tests.engine.sandbox_stack import Stack, stack_files

HERE = Path(__file__).parent
YAML_HOST = "pulumi-language-yaml"
PROVIDERS = "pulumi:providers:"
"""Types of providers: next to components, all that an update leaves which made nothing."""
SKIP_CHECKPOINTS = "PULUMI_SKIP_CHECKPOINTS"
"""With it an engine writes its state once, at the end of a command, not after each step."""
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
GARBAGE = "400" if MEMORY >= 12 * 2**30 else "100"
"""GOGC of engine, providers and control plane: Go collects garbage when the memory in use has grown
to this percentage more. With its default of 100 a control plane takes half as much processor time
again, and 0.7 GB less, which several processes on a small machine need."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    for item in ours:
        item.add_marker(pytest.mark.engine)
        if _tier(item) is NIGHTLY:
            item.add_marker(pytest.mark.nightly)
    others = [item for item in items if not item.path.is_relative_to(HERE)]
    items[:] = [*others, *long_ones_first(ours, lambda item: item.path.relative_to(HERE))]


def _tier(item: pytest.Item) -> dict[str, int]:
    try:
        return tier_of(item.path.relative_to(HERE))
    except LookupError as unknown:
        raise pytest.UsageError(str(unknown)) from unknown


def ready_programs(names: tuple[str, ...]) -> dict[str, Path]:
    """The programs that need neither download nor build; tests never start a build of minutes."""
    ready: dict[str, Path] = {}
    for program in named(list(names)):
        installed = find(program, os.environ).path
        entry = CachedProgram(program, cache_folder(), key(program, tools_folder(), go_platform()))
        if installed is not None:
            ready[program.name] = installed
        elif entry.is_valid():
            ready[program.name] = entry.executable
    return ready


def require(names: tuple[str, ...]) -> dict[str, Path]:
    """These programs, or a skip that names the missing ones and the command that makes them."""
    ready = ready_programs(names)
    if missing := [name for name in names if name not in ready]:
        pytest.skip(f"not made yet: {', '.join(missing)}; run `gpufleet sandbox programs`")
    return ready


@dataclass
class Project:
    """A Pulumi project in its own folder, with its own stack."""

    engine: PulumiEngine
    stack: str
    options: dict[str, Any] = field(default_factory=lambda: {"timeout": 240.0})

    @property
    def folder(self) -> Path:
        return self.engine.cwd

    def write(self, files: Mapping[str, str]) -> None:
        """Write files below the project's folder; the texts may be indented."""
        for name, text in files.items():
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text))
        shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)

    def holds_anything(self) -> bool:
        """Whether the state records a created resource, or an interrupted operation."""
        backend = Path(urlparse(self.engine.env["PULUMI_BACKEND_URL"]).path)
        (checkpoint,) = backend.glob(f".pulumi/stacks/*/{self.stack}.json")
        latest = json.loads(checkpoint.read_text())["checkpoint"].get("latest") or {}
        kinds = [one["type"] for one in latest.get("resources") or [] if one["custom"]]
        made = [kind for kind in kinds if not kind.startswith(PROVIDERS)]
        return bool(made or latest.get("pending_operations"))

    def clean_up(self) -> None:
        """Destroy what the test left; an engine that has nothing to do takes seconds as well."""
        if self.holds_anything():
            self.run("destroy")

    def run(self, command: str, *options: str, **settings: Any) -> Result:
        """`preview`, `up`, `destroy` or `refresh` of this project's stack."""
        return getattr(self.engine, command)(self.stack, *options, **{**self.options, **settings})


@pytest.fixture(scope="session", autouse=True)
def _ends_with_us(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Control planes do not outlive a run that is interrupted or killed."""
    with ended_with_us(tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_checkpoint_per_command() -> Iterator[None]:
    """Writing the state after each step takes most of an update's time; only a killed engine
    needs it, and `killed_engines` enables it for the tests that kill one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SKIP_CHECKPOINTS, "true")
        yield


@pytest.fixture(scope="session", autouse=True)
def _less_garbage_collection() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOGC", os.environ.get("GOGC", GARBAGE))
        yield


@pytest.fixture(scope="session")
def engine_layout(tmp_path_factory: pytest.TempPathFactory) -> SandboxLayout:
    """A folder with the engine, our language host, an empty file backend; no control plane."""
    programs = require(("pulumi",)) | ready_programs((YAML_HOST,))
    layout = SandboxLayout(tmp_path_factory.mktemp("engine"))
    for folder in (layout.backend, layout.pulumi_home):
        folder.mkdir(parents=True)
    installation.write_passphrase(layout.passphrase)
    installation.install(layout, programs, ProviderPlugin())
    return layout


@pytest.fixture(scope="session")
def engine_environment(engine_layout: SandboxLayout) -> dict[str, str]:
    """The complete environment of engine commands that need no cluster."""
    return environment.merged(engine_layout, os.environ)


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The running control plane that every test of this run shares."""
    require(SANDBOX_PROGRAMS)
    tools = [name for name in (YAML_HOST,) if ready_programs((name,))]
    with Sandbox(tmp_path_factory.mktemp("sandbox")).up(tools=tools) as running:
        yield running


@pytest.fixture
def cluster(sandbox: Sandbox) -> Iterator[Any]:
    """An API client of the `kubernetes` package for the shared cluster."""
    from kubernetes import config

    with config.new_client_from_config(str(sandbox.kubeconfig)) as client:
        yield client


@pytest.fixture
def namespace(cluster: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, deleted with all it holds."""
    from kubernetes import client

    name = unique_name(request)
    api = client.CoreV1Api(cluster)
    make_namespace(api, name)
    yield name
    api.delete_namespace(name)


@pytest.fixture
def project(
    tmp_path: Path, request: pytest.FixtureRequest, engine_environment: dict[str, str]
) -> Callable[..., Project]:
    """Makes a project without a cluster: `project({"__main__.py": ...}, runtime="python")`."""
    return maker(tmp_path, request, engine_environment)


@pytest.fixture
def clouds(tmp_path: Path) -> Iterator[Clouds]:
    """An empty AWS account and Google project of the test's own; the engine attaches to them."""
    with stand_in_clouds(tmp_path / "cloud") as both:
        yield both


@pytest.fixture
def cloud_project(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    engine_environment: dict[str, str],
    clouds: Clouds,
) -> Callable[..., Project]:
    """As `project`, with simulated clouds behind `pulumi_aws` and `pulumi_gcp`."""
    return maker(tmp_path, request, {**engine_environment, **clouds.environment()})


@pytest.fixture
def cloud_cluster_project(
    tmp_path: Path, request: pytest.FixtureRequest, sandbox: Sandbox, clouds: Clouds
) -> Iterator[Callable[..., Project]]:
    """As `cluster_project`, with the simulated clouds: a program that uses both."""
    made: list[Project] = []
    yield maker(tmp_path, request, {**sandbox.environment(), **clouds.environment()}, made)
    clouds.calm()
    for one in made:
        one.clean_up()


@pytest.fixture
def cluster_project(
    tmp_path: Path, request: pytest.FixtureRequest, sandbox: Sandbox
) -> Iterator[Callable[..., Project]]:
    """As `project`, against the shared cluster; its deployment is destroyed after the test."""
    made: list[Project] = []
    yield maker(tmp_path, request, sandbox.environment(), made)
    for one in made:
        one.clean_up()


@pytest.fixture(scope="module")
def shared_project(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, sandbox: Sandbox
) -> Iterator[Project]:
    """One stack on the shared cluster for the tests of a file: each test updates it, and it is
    destroyed after the last one. To remove a namespace takes six seconds."""
    folder = tmp_path_factory.mktemp("shared")
    one = maker(folder, request, sandbox.environment())({}, name="shared")
    yield one
    one.clean_up()


@pytest.fixture
def stack(cluster_project: Callable[..., Project]) -> Stack:
    """A copy of the stack sandbox-dev that a test may edit."""
    return Stack(cluster_project(stack_files(), name="gpufleet"))


@pytest.fixture
def core(cluster: Any) -> Any:
    """The core API of the shared cluster."""
    from kubernetes import client

    return client.CoreV1Api(cluster)


def maker(
    folder: Path,
    request: pytest.FixtureRequest,
    variables: Mapping[str, str],
    made: list[Project] | None = None,
) -> Callable[..., Project]:
    """A function that makes projects below a folder, with these variables; `made` collects them."""

    def make(files: Mapping[str, str], *, name: str = "demo", runtime: str = "python") -> Project:
        where = folder / name
        where.mkdir(parents=True)
        if "Pulumi.yaml" not in files:
            (where / "Pulumi.yaml").write_text(f"name: {name}\nruntime: {runtime}\n")
        environment = dict(variables)
        if request.node.get_closest_marker("killed_engines"):
            del environment[SKIP_CHECKPOINTS]
        one = Project(PulumiEngine(environment, where), unique_name(request))
        one.write(files)
        one.engine.stack_init(one.stack)
        if made is not None:
            made.append(one)
        return one

    return make


def unique_name(request: pytest.FixtureRequest) -> str:
    """A name Kubernetes and Pulumi accept, recognisable and not used by another test."""
    plain = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:40].strip("-")
    return f"{plain}-{uuid.uuid4().hex[:6]}"


@pytest.fixture
def processes_of_host(engine_environment: dict[str, str]) -> Callable[[], list[list[str]]]:
    """Command lines of the language host and its children that run in this test session."""

    def running() -> list[list[str]]:
        found: list[list[str]] = []
        for process in psutil.process_iter():
            try:
                command = process.cmdline()
                if any("language_host/__main__.py" in part for part in command):
                    home = process.environ().get("PULUMI_HOME")
                    if home == engine_environment["PULUMI_HOME"]:
                        found.append(command)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    return running

"""The examples as they are in the repository, on the real engine and scheduler."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kubernetes import client

from gpufleet_sandbox.engine import PulumiEngine
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import maker
from tests.engine.sandbox_stack import ROOT, Stack, gpus, nodes_advertise, stack_files
from tests.engine.waiting import until

EXAMPLES = ROOT / "examples"
HUB_TOKEN = "not-a-real-token"
CONFIG = {"serving": {"hubToken": HUB_TOKEN}}
"""Settings of an example that the test gives."""


@pytest.fixture
def example(sandbox: Sandbox, tmp_path: Path) -> Iterator[Callable[..., PulumiEngine]]:
    """Deploys a copy of an example, so that its stack's settings stay out of the repository."""
    deployed: list[PulumiEngine] = []

    def up(name: str) -> PulumiEngine:
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("Pulumi.*.yaml"))
        # The project's environment is named relative to the example; a copy has no such neighbour
        # and runs in the environment of these tests.
        description = folder / "Pulumi.yaml"
        description.write_text(description.read_text().split("  options:")[0])
        engine = PulumiEngine(sandbox.environment(), folder)
        engine.stack_init("example")
        deployed.append(engine)
        engine.up("example", timeout=300, config=CONFIG.get(name))
        return engine

    yield up
    for engine in reversed(deployed):
        engine.destroy("example")


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, sandbox: Sandbox
) -> Iterator[Stack]:
    """The stack sandbox-dev, deployed once for the examples that need its nodes."""
    made = maker(tmp_path_factory.mktemp("stack"), request, sandbox.environment())
    deployed = Stack(made(stack_files(), name="gpufleet"))
    deployed.up()
    yield deployed
    deployed.project.clean_up()


def test_the_smallest_fleet(example: Callable[..., PulumiEngine], core: client.CoreV1Api) -> None:
    engine = example("languages/python")
    for node in ("minimal-chat-0", "minimal-chat-1"):
        until(
            lambda node=node: gpus(core, node) == {"nvidia.com/gpu.shared": "4"},
            lambda node=node: gpus(core, node),
        )
    assert engine.outputs("example")["advertised"] == {"chat": {"nvidia.com/gpu.shared": 4}}
    engine.up("example", "--expect-no-changes")


@pytest.mark.usefixtures("stack")
def test_the_workloads_land_where_they_should(
    example: Callable[..., PulumiEngine], core: client.CoreV1Api
) -> None:
    nodes_advertise(core)
    engine = example("workloads")

    def landed() -> dict[str, Counter[str]]:
        pods = core.list_namespaced_pod("workloads").items
        running = [pod for pod in pods if pod.status.phase == "Running"]
        apps = {pod.metadata.labels["app"] for pod in running}
        return {
            app: Counter(p.spec.node_name for p in running if p.metadata.labels["app"] == app)
            for app in apps
        }

    def as_they_should() -> bool:
        found = landed()
        models = found.get("small-models", Counter())
        return (
            models.total() == 10
            and set(models) == {"sandbox-chat-0", "sandbox-chat-1", "sandbox-chat-2"}
            and max(models.values()) == 4
            and found.get("notebooks") == {"sandbox-notebooks-0": 6}
            and found.get("training") == {"sandbox-training-0": 1}
        )

    until(as_they_should, landed)

    # A job cannot be changed, only made again; the old one has to be gone by then.
    program = engine.cwd / "workloads.py"
    program.write_text(program.read_text().replace('"train.py"]', '"train.py", "--resume"]'))
    engine.up("example")
    until(as_they_should, landed)

    def trained() -> list[list[str]]:
        pods = core.list_namespaced_pod("workloads", label_selector="app=training").items
        return [pod.spec.containers[0].command[-1:] for pod in pods]

    until(lambda: trained() == [["--resume"]], trained)


@pytest.mark.usefixtures("stack")
def test_models_are_served_on_a_share_and_on_a_slice(
    example: Callable[..., PulumiEngine], core: client.CoreV1Api
) -> None:
    nodes_advertise(core)
    engine = example("serving")

    def landed() -> dict[str, str]:
        pods = core.list_namespaced_pod("serving").items
        return {
            pod.metadata.labels["app"]: pod.spec.node_name
            for pod in pods
            if pod.status.phase == "Running"
        }

    until(
        lambda: (
            landed().get("chat", "").startswith("sandbox-chat-")
            and landed().get("code") == "sandbox-notebooks-0"
        ),
        landed,
    )
    (env,) = (
        core.list_namespaced_pod("serving", label_selector="app=chat")
        .items[0]
        .spec.containers[0]
        .env
    )
    assert (env.name, env.value_from.secret_key_ref.name) == ("HF_TOKEN", "hub")
    assert HUB_TOKEN not in json.dumps(engine.state("example"))
    scaled = client.CustomObjectsApi(core.api_client).list_namespaced_custom_object(
        "keda.sh", "v1alpha1", "serving", "scaledobjects"
    )
    assert {one["metadata"]["name"] for one in scaled["items"]} == {"chat", "code"}
    engine.up("example", "--expect-no-changes")

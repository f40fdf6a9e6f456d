"""A fleet of nodes that the test creates: labels are added, layouts change, and all is removed.

The engine applies labels on the real API server; the operand simulators partition the GPUs and
publish the resources of the nodes.
"""

import io
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from gpufleet.catalogue import load
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.sandbox.simulated_node import simulated_nodes
from gpufleet.sandbox_distribution import CHARTS, sandbox_part
from gpufleet_sandbox.engine import deploy
from gpufleet_sandbox.stack_repair import release_stale_lock
from tests.engine.namespaces import make_namespace
from tests.engine.nfd_master import nfd_master
from tests.engine.sandbox_stack import gpus
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

PROGRAM = """
    import json, pulumi, pulumi_kubernetes as k8s
    from pathlib import Path
    from gpufleet import GpuFleet

    provider = k8s.Provider("cluster")
    GpuFleet(
        "fleet",
        {"spec": json.loads(Path("fleet.json").read_text()), "connection": {}},
        pulumi.ResourceOptions(providers=[provider]),
    )
"""
EIGHTHS: dict[str, Any] = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
HALVES: dict[str, Any] = {"mig": {"layouts": [{"devices": {"3g.40gb": 2}}]}}
SHARES: dict[str, Any] = {"timeSlicing": {"replicas": 4}}
SMALL, LARGE, SHARE = "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb", "nvidia.com/gpu.shared"
OWN = {"example.com/rack": "a", "example.com/owner": "metal"}
"""Labels of the people who made the nodes."""


def manifests(
    pool: str, gpu: str, gpus_per_node: int, count: int, fabric: str = "none"
) -> list[dict[str, Any]]:
    """Nodes as the sandbox describes hardware, without anything of a fleet on them."""
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "metal"},
            "pools": [
                {
                    "name": pool,
                    "gpu": gpu,
                    "gpusPerNode": gpus_per_node,
                    "nodes": {"min": count, "max": count},
                    "fabric": fabric,
                }
            ],
        }
    )
    assert compiled.fleet is not None
    made = simulated_nodes(compiled.fleet.pools[0], load(), prefix="metal", region="sandbox")
    kept = ("gpufleet.dev/simulated", "kubernetes.io/", "topology.", "node.kubernetes.io/")
    return [
        {
            "metadata": {
                "name": one.name,
                "labels": {k: v for k, v in one.metadata["labels"].items() if k.startswith(kept)}
                | OWN,
                "annotations": {
                    k: v
                    for k, v in one.metadata["annotations"].items()
                    if k.startswith("sandbox.gpufleet.dev/")
                },
            },
            "spec": {"providerID": one.spec["providerID"], "taints": []},
        }
        for one in made
    ]


EXAMPLE = Path(__file__).parents[2] / "examples" / "existing-nodes"
EXAMPLES: dict[str, tuple[list[str], str, int, dict[str, str]]] = {
    "hgx-rke2": (["hgx-1"], "H100-80GB", 8, {"nvidia.com/gpu": "4", SMALL: "28"}),
    "dgx-infiniband": (
        [f"dgx-0{i}" for i in range(1, 5)],
        "H100-80GB",
        8,
        {"nvidia.com/gpu": "8"},
    ),
    "aks": (["aks-gpu-0"], "T4", 1, {SHARE: "4"}),
    "k3s-workstation": (["desk"], "RTX-PRO-6000", 1, {SHARE: "4"}),
}
"""Declaration -> its nodes, their GPU and count, and what they offer then."""


CUT, SHARED = manifests("cut", "A100-80GB", 8, 3), manifests("shared", "L4", 1, 1)


def spec(cut: dict[str, Any], nodes: int, **change: Any) -> dict[str, Any]:
    def names(those: list[dict[str, Any]]) -> list[str]:
        return [one["metadata"]["name"] for one in those]

    def pool(name: str, gpu: str, those: list[str], sharing: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": name,
            "gpu": gpu,
            "nodes": {"min": len(those), "max": len(those)},
            "image": "dgx",
            "sharing": sharing,
            "gpuTaint": False,
            "existing": {"nodes": those},
        }

    return {
        "catalogue": "2026.11",
        "platform": "existing",
        "cluster": {"name": "metal"},
        "pools": [
            pool("cut", "A100-80GB", names(CUT)[:nodes], cut) | {"gpusPerNode": 8} | change,
            pool("shared", "L4", names(SHARED), SHARES),
        ],
        "addons": {"charts": {"source": {"folder": str(sandbox_part(CHARTS)())}}},
    }


@pytest.fixture
def nodes(core: client.CoreV1Api) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Makes a node by hand; all of them are gone after the test."""
    made: list[str] = []

    def make(manifest: dict[str, Any]) -> None:
        made.append(manifest["metadata"]["name"])
        core.create_node(manifest)

    yield make
    for name in made:
        try:
            core.delete_node(name)
        except client.ApiException as gone:
            assert gone.status == 404  # noqa: PT017 - a node that the test took away


def labels(core: client.CoreV1Api, node: str) -> dict[str, str]:
    return core.read_node(node).metadata.labels or {}


def offers(core: client.CoreV1Api, node: str, resources: dict[str, str]) -> None:
    """Wait until a node offers this."""
    until(lambda: gpus(core, node) == resources, lambda: (node, gpus(core, node)))


def lands(core: client.CoreV1Api, namespace: str, resource: str, pool: str) -> str:
    """Create a pod that requests one unit of a resource, and return its node."""
    name = resource.rpartition("/")[2].replace(".", "-")
    core.create_namespaced_pod(
        namespace,
        {
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"gpufleet.dev/pool": pool},
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {"name": "c", "image": "c", "resources": {"limits": {resource: "1"}}}
                ],
            },
        },
    )

    def read() -> Any:
        return core.read_namespaced_pod(name, namespace)

    until(lambda: read().status.phase == "Running", lambda: read().status)
    node = str(read().spec.node_name)
    core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)
    return node


def test_nodes_of_somebody_else(
    cluster_project: Callable[..., Any],
    core: client.CoreV1Api,
    namespace: str,
    nodes: Callable[[dict[str, Any]], None],
) -> None:
    project = cluster_project({"__main__.py": PROGRAM, "fleet.json": "{}"})

    def up(data: dict[str, Any]) -> None:
        (project.folder / "fleet.json").write_text(json.dumps(data))
        project.run("up")

    first, second, third = (one["metadata"]["name"] for one in CUT)
    shared = SHARED[0]["metadata"]["name"]
    for one in (*CUT[:2], *SHARED):
        nodes(one)

    up(spec(EIGHTHS, 2))
    offers(core, first, {SMALL: "56"})
    offers(core, second, {SMALL: "56"})
    offers(core, shared, {SHARE: "4"})
    assert lands(core, namespace, SMALL, "cut") in {first, second}
    assert lands(core, namespace, SHARE, "shared") == shared

    # A node joins, and is named.
    nodes(CUT[2])
    up(spec(EIGHTHS, 3))
    offers(core, third, {SMALL: "56"})

    # The layout changes, one node after the other.
    up(spec(HALVES, 3, change={"previous": EIGHTHS, "timeoutSeconds": 60}))
    up(spec(HALVES, 3))
    for node in (first, second, third):
        offers(core, node, {LARGE: "16"})

    # One leaves the fleet and stays in the cluster: only what was the fleet's goes.
    up(spec(HALVES, 2))
    until(
        lambda: "gpufleet.dev/pool" not in labels(core, third),
        lambda: labels(core, third),
    )
    assert labels(core, third).items() >= OWN.items()

    project.run("destroy")
    for node in (first, second, shared):
        left = labels(core, node)
        assert left.items() >= OWN.items()
        assert not [key for key in left if key.startswith("gpufleet.dev/pool")], left
        assert "nvidia.com/device-plugin.config" not in left


def killed(project: Any, moment: Callable[[], bool], command: str) -> None:
    """Start a command of the engine and kill it with SIGKILL at a moment."""
    said = project.folder / "killed.log"
    words = ["pulumi", command, "--yes", "--skip-preview", "--non-interactive"]
    with said.open("ab") as log:
        engine = subprocess.Popen(
            [*words, "--stack", project.stack],
            cwd=project.folder,
            env=project.engine.env,
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: moment() or engine.poll() is not None, said.read_text)
    finally:
        engine.kill()
        engine.wait()


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_deploys(
    cluster_project: Callable[..., Any],
    core: client.CoreV1Api,
    sandbox: Any,
    nodes: Callable[[dict[str, Any]], None],
    tmp_path: Path,
    name: str,
) -> None:
    """The program of the example as it is, with nodes of the names that it has."""
    names, gpu, count, offered = EXAMPLES[name]
    fabric = "rdma" if name == "dgx-infiniband" else "none"
    for node, made in zip(names, manifests(name, gpu, count, len(names), fabric), strict=True):
        made["metadata"]["name"] = node
        nodes(made)
    program = {"__main__.py": (EXAMPLE / "__main__.py").read_text()}
    declared = {f"{name}.yaml": (EXAMPLE / f"{name}.yaml").read_text()}
    project = cluster_project({**program, **declared}, name="existing-nodes")
    settings = f"config: {{'existing-nodes:fleet': {name}}}\n"
    (project.folder / f"Pulumi.{project.stack}.yaml").write_text(settings)
    for team in ("research", "teaching"):  # from docs/what-must-exist.md
        make_namespace(core, team)
    with nfd_master(sandbox, tmp_path, core.api_client) as report:
        for node in names:
            report(node)
        project.run("up")
        if name == "aks":  # by hand, by `nodes/chat.sh` of `gpufleet render`
            fleet = compile_data(yaml.safe_load(declared["aks.yaml"])).fleet
            assert fleet is not None
            own = {"metadata": {"labels": dict(fleet.pools[0].labels)}}
            core.patch_node(names[0], own)
        for node in names:
            offers(core, node, offered)
        project.run("destroy")
        for node in names:
            assert labels(core, node).items() >= OWN.items()
    for team in ("research", "teaching"):
        core.delete_namespace(team)


@pytest.mark.nightly
def test_a_rule_labels_nodes_and_those_that_join_later(
    cluster_project: Callable[..., Any],
    core: client.CoreV1Api,
    namespace: str,
    sandbox: Any,
    nodes: Callable[[dict[str, Any]], None],
    tmp_path: Path,
) -> None:
    """By the real master of Node Feature Discovery."""
    data = spec(EIGHTHS, 3)
    data["pools"] = data["pools"][:1]
    (pool,) = data["pools"]
    pool |= {"nodes": {"min": 2, "max": 3}, "existing": {"namePattern": "metal-cut-[0-9]+"}}
    project = cluster_project({"__main__.py": PROGRAM, "fleet.json": json.dumps(data)})
    first, second, third = (one["metadata"]["name"] for one in CUT)
    other = SHARED[0]["metadata"]["name"]
    for one in (*CUT[:2], *SHARED):
        nodes(one)
    with nfd_master(sandbox, tmp_path, core.api_client) as report:
        for name in (first, second, other):
            report(name)
        project.run("up")
        for name in (first, second):
            offers(core, name, {SMALL: "56"})
        assert lands(core, namespace, SMALL, "cut") in {first, second}
        # A GPU node with another name is not of the pool.
        assert "gpufleet.dev/pool" not in labels(core, other)

        # One joins: no update of the stack is needed.
        nodes(CUT[2])
        report(third)
        offers(core, third, {SMALL: "56"})

        project.run("destroy")
        for name in (first, second, third):
            until(lambda n=name: "gpufleet.dev/pool" not in labels(core, n), lambda: project.folder)
            assert labels(core, name).items() >= OWN.items()


@pytest.mark.nightly
@pytest.mark.killed_engines
def test_kills_at_five_moments(
    cluster_project: Callable[..., Any],
    core: client.CoreV1Api,
    sandbox: Any,
    nodes: Callable[[dict[str, Any]], None],
) -> None:
    project = cluster_project({"__main__.py": PROGRAM, "fleet.json": "{}"})
    first, second, third = (one["metadata"]["name"] for one in CUT)
    for one in (*CUT, *SHARED):
        nodes(one)

    def says(node: str, key: str) -> str | None:
        return labels(core, node).get(key)

    def has_operator() -> bool:
        return any(one.metadata.name == "gpu-operator" for one in core.list_namespace().items)

    def change(data: dict[str, Any], moment: Callable[[], bool]) -> None:
        (project.folder / "fleet.json").write_text(json.dumps(data))
        killed(project, moment, "up")
        deploy(sandbox, project.stack, project=project.folder, out=io.StringIO())

    change(spec(EIGHTHS, 2), has_operator)
    change(spec(EIGHTHS, 3), lambda: says(third, "gpufleet.dev/pool") == "cut")
    for node in (first, second, third):
        offers(core, node, {SMALL: "56"})
    before = says(first, "nvidia.com/mig.config")
    waves = spec(HALVES, 3, change={"previous": EIGHTHS, "timeoutSeconds": 60})
    change(waves, lambda: says(first, "nvidia.com/mig.config") != before)
    for node in (first, second, third):
        offers(core, node, {LARGE: "16"})
    change(spec(HALVES, 2), lambda: says(third, "gpufleet.dev/pool") is None)
    killed(project, lambda: says(first, "gpufleet.dev/pool") is None, "destroy")
    release_stale_lock(project.engine, project.stack)
    project.run("destroy")
    for node in (first, second, third, SHARED[0]["metadata"]["name"]):
        assert "gpufleet.dev/pool" not in labels(core, node)
        assert labels(core, node).items() >= OWN.items()

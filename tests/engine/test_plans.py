"""Seven plans, deployed from the FleetSpec and the manifests of the command: every pod runs on its
promised device, and no planned node can be omitted."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from kubernetes import client, utils

from gpufleet_planner.commands.plan import command
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION
from tests.engine.sandbox_stack import ROOT, Stack, gpus
from tests.engine.waiting import until
from tests.examples import at_night

EXAMPLES = ROOT / "examples" / "plan"
POOL = "gpufleet.dev/pool"
NEED = "gpufleet.dev/min-gpu-memory-gib"
MIB_PER_GIB = 1024
BESIDE = ("Service", "ScaledObject")
"""Through which pods of a job find each other, and by which replicas vary."""


class Planned:
    """One workloads file as the command plans it, deployed into a namespace."""

    def __init__(self, name: str, namespace: str, folder: Path) -> None:
        manifests = folder / "pods.yaml"
        source = str(EXAMPLES / f"sandbox-{name}.yaml")
        answer = CliRunner().invoke(command, [source, "--manifests", str(manifests)])
        assert answer.exit_code == 0, answer.output
        self.spec: dict[str, Any] = yaml.safe_load(answer.stdout)
        self.documents = list(yaml.safe_load_all(manifests.read_text()))
        for document in self.documents:
            document["metadata"]["namespace"] = namespace
            if document["kind"] in BESIDE:
                continue
            # What Kueue does when it admits a job; it does not run here.
            document["spec"].pop("suspend", None)
            # Jobs of the sandbox end after a second; these are to be looked at.
            annotations = document["spec"]["template"]["metadata"]["annotations"]
            annotations["sandbox.gpufleet.dev/run-for"] = "24h"
        self.namespace = namespace

    def wanted(self) -> dict[str, int]:
        """Pods of each workload."""
        return {
            d["metadata"]["name"]: d["spec"].get("replicas", d["spec"].get("completions"))
            for d in self.workloads
        }

    @property
    def workloads(self) -> list[dict[str, Any]]:
        """Documents except the objects that accompany workloads."""
        return [d for d in self.documents if d["kind"] not in BESIDE]

    def pool_of(self, app: str) -> str:
        document = next(d for d in self.workloads if d["metadata"]["name"] == app)
        return document["spec"]["template"]["spec"]["nodeSelector"][POOL]


NIGHTLY = [
    pytest.param(name, marks=pytest.mark.nightly)
    for name in ("shared", "training", "serving", "lora", "notebooks")
]
OF_THE_PLANNER = at_night("pretraining", changed="gpufleet_planner/*.py")


@pytest.fixture(params=["slices", *OF_THE_PLANNER, *NIGHTLY])
def planned(
    request: pytest.FixtureRequest, stack: Stack, cluster: Any, namespace: str, tmp_path: Path
) -> Planned:
    plan = Planned(request.param, namespace, tmp_path)
    stack.config["gpufleet:fleet"] = plan.spec
    core = client.CoreV1Api(cluster)
    teams = [team["name"] for team in plan.spec.get("queues", {}).get("teams", ())]
    # A team's namespace is its owner's: the fleet puts a queue into it.
    present = {found.metadata.name for found in core.list_namespace().items}
    for team in set(teams) - present:
        core.create_namespace({"metadata": {"name": team}})
    stack.up()
    for document in plan.documents:
        if document["kind"] == "ScaledObject":
            _scale(cluster, document)
        else:
            utils.create_from_dict(cluster, document, namespace=namespace)
    return plan


def _scale(cluster: Any, scaled: dict[str, Any]) -> None:
    """KEDA's definition must be there, and take every field; its chart only where it is planned."""
    client.CustomObjectsApi(cluster).create_namespaced_custom_object(
        *scaled["apiVersion"].split("/"),
        scaled["metadata"]["namespace"],
        "scaledobjects",
        scaled,
        field_validation="Strict",
    )
    chart = client.CoreV1Api(cluster).list_config_map_for_all_namespaces(
        field_selector="metadata.name=keda-settings"
    )
    assert chart.items


def pods(core: client.CoreV1Api, plan: Planned, phase: str) -> list[Any]:
    found = core.list_namespaced_pod(plan.namespace).items
    return [p for p in found if p.status.phase == phase and not p.metadata.deletion_timestamp]


def asked(pod: Any) -> dict[str, int]:
    """NVIDIA's resources that a pod requests."""
    limits = pod.spec.containers[0].resources.limits
    return {k: int(v) for k, v in limits.items() if k.startswith("nvidia.com/")}


def test_a_plan_runs_and_has_no_gpu_to_spare(planned: Planned, core: client.CoreV1Api) -> None:
    def running() -> dict[str, int]:
        apps = [p.metadata.labels["app"] for p in pods(core, planned, "Running")]
        return {app: apps.count(app) for app in set(apps)}

    until(lambda: running() == planned.wanted(), lambda: (planned.wanted(), running()))
    found = pods(core, planned, "Running")
    nodes = {node.metadata.name: node for node in core.list_node().items}
    for pod in found:
        labels = nodes[pod.spec.node_name].metadata.labels
        assert labels[POOL] == planned.pool_of(pod.metadata.labels["app"])
        [(resource, count)] = asked(pod).items()
        need = float(pod.metadata.annotations[NEED]) * MIB_PER_GIB
        # The node's labels of feature discovery, not the plan's assumption.
        memory = int(labels[f"{resource.removesuffix('.shared')}.memory"])
        sharing = int(labels.get(f"{resource.removesuffix('.shared')}.replicas", "1"))
        assert need <= count * memory / max(sharing, 1), (pod.metadata.name, resource, count)
    for name in {pod.spec.node_name for pod in found}:
        offered = {k: int(v) for k, v in gpus(core, name).items()}
        taken: dict[str, int] = {}
        for pod in found:
            if pod.spec.node_name == name:
                for resource, count in asked(pod).items():
                    taken[resource] = taken.get(resource, 0) + count
        assert all(taken[r] <= offered[r] for r in taken), (name, taken, offered)

    # All at once: a Job waits ten seconds before it replaces a pod it lost.
    names = [pool["name"] for pool in planned.spec["pools"]]
    for name in names:
        _lose_a_gpu(core, planned, name)

    def waiting() -> set[str]:
        return {
            planned.pool_of(p.metadata.labels["app"])
            for p in pods(core, planned, "Pending")
            if not p.spec.node_name
        }

    until(lambda: waiting() == set(names), lambda: (names, waiting()))


def _lose_a_gpu(core: client.CoreV1Api, plan: Planned, pool: str) -> None:
    """One GPU falls off the bus of one node; the pods of the pool start again."""
    node = core.list_node(label_selector=f"{POOL}={pool}").items[0]
    before = gpus(core, node.metadata.name)
    hardware = json.loads(node.metadata.annotations[HARDWARE_ANNOTATION])
    [group] = hardware["gpus"]
    hardware["gpus"] = [{**group, "count": group["count"] - 1}] if group["count"] > 1 else []
    patch = {"metadata": {"annotations": {HARDWARE_ANNOTATION: json.dumps(hardware)}}}
    core.patch_node(node.metadata.name, patch)
    until(lambda: gpus(core, node.metadata.name) != before, lambda: gpus(core, node.metadata.name))
    for pod in core.list_namespaced_pod(plan.namespace).items:
        if plan.pool_of(pod.metadata.labels["app"]) == pool:
            core.delete_namespaced_pod(pod.metadata.name, plan.namespace, grace_period_seconds=0)

"""A deployed fleet whose queues the real Kueue runs, and the jobs that tests put into them."""

import json
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubernetes import client

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.kueue_configuration import kueue_configuration
from gpufleet_sandbox.engine import PulumiEngine
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.kueue_controller import kueue
from tests.engine.waiting import until

GROUP = ("kueue.x-k8s.io", "v1beta2")
SLICE = "nvidia.com/mig-3g.40gb"
GPU = "nvidia.com/gpu"
TEAMS = ("red", "blue")
SPEC: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "sandbox",
    "cluster": {"name": "queued"},
    "pools": [
        {"name": "whole", "gpu": "L4", "nodes": {"min": 2, "max": 2}},
        {
            "name": "slices",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 1, "max": 1},
            "sharing": {
                "mig": {"strategy": "mixed", "layouts": [{"gpus": 1, "devices": {"3g.40gb": 2}}]}
            },
        },
        {"name": "burst", "gpu": "L40S", "nodes": {"min": 0, "max": 2}},
        {
            "name": "rack",
            "gpu": "T4",
            "nodes": {"min": 2, "max": 2},
            "labels": {"example.com/rack": "r1"},
        },
        {
            "name": "claims",
            "gpu": "H100-80GB",
            "gpusPerNode": 8,
            "nodes": {"min": 1, "max": 1},
            "sharing": {"dra": {"namespaces": ["red"]}},
        },
    ],
    "addons": {"kueue": {"ownership": "existing"}},
    "queues": {
        "teams": [{"name": "red", "share": 0.5}, {"name": "blue", "share": 0.5}],
        "topologies": [
            {
                "name": "racks",
                "levels": ["example.com/rack", "kubernetes.io/hostname"],
                "pools": ["rack"],
            }
        ],
        "priorities": [{"name": "urgent", "value": 1000}],
        "createNamespaces": True,
    },
}
PROGRAM = f"""
import json
import os

import pulumi
import pulumi_kubernetes as kubernetes

from gpufleet import GpuFleet

cluster = kubernetes.Provider("cluster", kubeconfig=os.environ["KUBECONFIG"])
options = pulumi.ResourceOptions(providers=[cluster])
GpuFleet("fleet", {{"spec": json.loads({json.dumps(SPEC)!r})}}, options)
"""


class Queued:
    """The deployed fleet, and the jobs of one test."""

    def __init__(self, api: client.ApiClient, fleet: Fleet) -> None:
        self.fleet = fleet
        self.batch = client.BatchV1Api(api)
        self.core = client.CoreV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self.made: list[tuple[str, str]] = []
        self.metrics = 0
        """Port of Kueue's own metrics."""

    def job(
        self,
        team: str,
        name: str,
        pool: str,
        resource: str,
        count: int = 1,
        priority: str | None = None,
        pods: int = 1,
        annotations: dict[str, str] | None = None,
    ) -> None:
        """A suspended Job, as people write them: Kueue decides when it starts."""
        self.made.append((team, name))
        container = {"name": "c", "image": "none", "resources": {"limits": {resource: str(count)}}}
        template = {
            "metadata": {
                "annotations": {"sandbox.gpufleet.dev/run-for": "12h", **(annotations or {})}
            },
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"gpufleet.dev/pool": pool},
                "containers": [container],
            },
        }
        labels = {"kueue.x-k8s.io/queue-name": team}
        if priority is not None:
            labels["kueue.x-k8s.io/priority-class"] = priority
        self.batch.create_namespaced_job(
            team,
            {
                "metadata": {"name": name, "labels": labels},
                "spec": {
                    "suspend": True,
                    "backoffLimit": 0,
                    "parallelism": pods,
                    "completions": pods,
                    "template": template,
                },
            },
        )

    def runs(self, team: str, name: str) -> bool:
        pods = self.core.list_namespaced_pod(team, label_selector=f"job-name={name}").items
        return any(pod.status.phase == "Running" for pod in pods)

    def running(self, team: str, *names: str) -> None:
        for name in names:
            until(
                lambda name=name: self.runs(team, name),
                lambda name=name: (name, self.conditions(team, name)),
            )

    def conditions(self, team: str, name: str) -> dict[str, tuple[str, str, str]]:
        """Conditions of the job's workload: status, reason, message."""
        listed = self.custom.list_namespaced_custom_object(*GROUP, team, "workloads")["items"]
        for workload in listed:
            if any(o["name"] == name for o in workload["metadata"].get("ownerReferences", [])):
                return {
                    c["type"]: (c["status"], c["reason"], c["message"])
                    for c in workload.get("status", {}).get("conditions", [])
                }
        return {}

    def waits(self, team: str, name: str, because: str) -> None:
        def told() -> bool:
            status, _, message = self.conditions(team, name).get("QuotaReserved", ("", "", ""))
            return status == "False" and because in message

        until(told, lambda: self.conditions(team, name))
        # A pod that was preempted may be on its way out.
        until(lambda: not self.runs(team, name), lambda: f"{name} of {team} runs")

    def end(self, team: str, name: str) -> None:
        self.batch.delete_namespaced_job(name, team, propagation_policy="Background")
        self.made.remove((team, name))

    def clear(self) -> None:
        for team, name in list(self.made):
            self.end(team, name)
        until(
            lambda: (
                not any(
                    self.custom.list_namespaced_custom_object(*GROUP, team, "workloads")["items"]
                    for team in TEAMS
                )
            ),
            lambda: "workloads are left",
        )


@contextmanager
def queued_fleet(sandbox: Sandbox, folder: Path, api: client.ApiClient) -> Iterator[Queued]:
    """The fleet and its Kueue, while the context lasts."""
    fleet = compile_data(SPEC).fleet
    assert fleet is not None
    program, work = folder / "program", folder / "kueue"
    program.mkdir()
    work.mkdir()
    (program / "Pulumi.yaml").write_text("name: queued\nruntime: python\n")
    (program / "__main__.py").write_text(textwrap.dedent(PROGRAM))
    engine = PulumiEngine(sandbox.environment(), program)
    engine.stack_init("queued")
    queued = Queued(api, fleet)
    with kueue(sandbox, work, kueue_configuration(fleet), TEAMS) as metrics:
        queued.metrics = metrics
        try:
            engine.up("queued", timeout=240)
            until(
                lambda: _advertised(queued.core) == {GPU: 11, SLICE: 2},
                lambda: _advertised(queued.core),
            )
            yield queued
        finally:
            engine.destroy("queued")
            for team in TEAMS:
                queued.core.delete_namespace(team)


def _advertised(core: client.CoreV1Api) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in core.list_node(label_selector="gpufleet.dev/pool").items:
        for name, amount in (node.status.allocatable or {}).items():
            if name.startswith("nvidia.com/") and amount != "0":
                found[name] = found.get(name, 0) + int(amount)
    return found

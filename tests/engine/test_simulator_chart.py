"""The gpu-operator simulator chart through the real Kubernetes provider and its embedded Helm."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from kubernetes import client

from gpufleet_sandbox.engine_result import EngineError
from tests.engine.conftest import Project
from tests.engine.sandbox_stack import gpus
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

MakeProject = Callable[..., Project]
NODE = "chart-a100"
SLICE = "nvidia.com/mig-3g.40gb"
PROGRAM = """
from importlib.resources import files

import pulumi_kubernetes as k8s
from pulumi import ResourceOptions

namespace = "{namespace}"
made = k8s.core.v1.Namespace("made", metadata={{"name": namespace}}) if {made} else None
k8s.helm.v3.Release(
    "gpu-operator",
    name="gpu-operator",
    namespace=namespace,
    chart=str(files("gpufleet_sandbox") / "charts" / "gpu-operator"),
    values={values!r},
    opts=ResourceOptions(parent=made),
)
"""
LAYOUTS = """\
version: v1
mig-configs:
  halves: [{devices: all, mig-enabled: true, mig-devices: {3g.40gb: 2}}]
"""


def program(values: dict[str, Any], namespace: str, *, made: bool) -> dict[str, str]:
    return {"__main__.py": PROGRAM.format(values=values, namespace=namespace, made=made)}


def test_values_reach_the_node(cluster_project: MakeProject, cluster: Any) -> None:
    core = client.CoreV1Api(cluster)
    config = {"create": True, "name": "layouts", "data": {"config.yaml": LAYOUTS}}
    values = {"mig": {"strategy": "mixed"}, "migManager": {"config": config}}
    project = cluster_project(program(values, "chart-under-test", made=True))
    gpu = {"product": "NVIDIA A100-SXM4-80GB", "memoryMiB": 81920, "count": 2}
    hardware = {"gpus": [gpu], "cpu": "96", "memory": "1152Gi", "driver": "580.95.05"}
    core.create_node(
        {
            "metadata": {
                "name": NODE,
                "labels": {"gpufleet.dev/simulated": "true", "nvidia.com/mig.config": "halves"},
                "annotations": {"sandbox.gpufleet.dev/hardware": json.dumps(hardware)},
            }
        }
    )
    try:
        project.run("up")
        state = "nvidia.com/mig.config.state"
        until(
            lambda: core.read_node(NODE).metadata.labels.get(state) == "success",
            lambda: core.read_node(NODE).metadata.labels,
        )
        until(lambda: gpus(core, NODE) == {SLICE: "4"}, lambda: gpus(core, NODE))
        project.run("preview", "--expect-no-changes")
        project.run("destroy")
        until(lambda: SLICE not in gpus(core, NODE), lambda: gpus(core, NODE))
    finally:
        core.delete_node(NODE)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"mig": {"stategy": "mixed"}}, "stategy"),
        ({"devicePlugin": {"config": {"create": True}}}, "needs devicePlugin.config.data"),
        ({"mig": {"strategy": "dual"}}, 'Unsupported value: "dual"'),
    ],
)
def test_wrong_values_never_reach_the_cluster(
    cluster_project: MakeProject, values: dict[str, Any], reason: str
) -> None:
    # The deletion of a namespace takes five seconds: the existing one is used.
    project = cluster_project(program(values, "default", made=False))
    with pytest.raises(EngineError) as stopped:
        project.run("up")
    assert reason in str(stopped.value)

"""The example with one workload of each kind, deployed as it is in the repository."""

import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config

from gpufleet.render.nim import nim_cache, nim_service
from gpufleet.render.scaled_object import scaled_object
from gpufleet.spec.nim import Nim
from gpufleet.spec.scaling import KedaScaling
from gpufleet_sandbox.engine import PulumiEngine
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.namespaces import remove_namespaces
from tests.engine.sandbox_stack import ROOT
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

EXAMPLE = ROOT / "examples" / "workload-kinds"
TEAMS = ("product", "research")


@pytest.fixture(scope="module")
def api(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[client.ApiClient]:
    folder = tmp_path_factory.mktemp("kinds") / "workload-kinds"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("Pulumi.*.yaml"))
    description = folder / "Pulumi.yaml"
    description.write_text(description.read_text().split("  options:")[0])
    engine = PulumiEngine(sandbox.environment(), folder)
    engine.stack_init("kinds")
    with config.new_client_from_config(str(sandbox.kubeconfig)) as connected:
        core = client.CoreV1Api(connected)
        remove_namespaces(core, *TEAMS)
        try:
            engine.up("kinds", timeout=240)
            yield connected
        finally:
            engine.destroy("kinds")
            # Made with the queues and kept when they go, as teams' work is.
            for one in core.list_namespace().items:
                if one.metadata.name in TEAMS:
                    core.delete_namespace(one.metadata.name)


def landed(api: client.ApiClient, namespace: str, app: str) -> Counter[str]:
    """Node -> running pods of an application."""
    pods = client.CoreV1Api(api).list_namespaced_pod(namespace, label_selector=f"app={app}").items
    return Counter(pod.spec.node_name for pod in pods if pod.status.phase == "Running")


@pytest.mark.parametrize(
    ("namespace", "app", "nodes"),
    [
        ("product", "small-models", {"kinds-chat-0": 10}),
        ("product", "vllm", {"kinds-slices-0": 1}),
        ("research", "notebooks", {"kinds-slices-0": 4}),
        ("research", "simulate", {"kinds-claims-0": 1}),
        ("product", "neuron", {"kinds-inferentia-0": 1}),
    ],
)
def test_services_land_on_their_pool(
    api: client.ApiClient, namespace: str, app: str, nodes: dict[str, int]
) -> None:
    until(
        lambda: landed(api, namespace, app) == nodes,
        lambda: landed(api, namespace, app),
    )


def test_jobs_with_a_queue_wait_for_it(api: client.ApiClient) -> None:
    job = client.BatchV1Api(api).read_namespaced_job("embeddings", "research")
    assert job.spec.suspend is True
    assert landed(api, "research", "embeddings") == {}
    queue = client.CustomObjectsApi(api).get_namespaced_custom_object(
        "kueue.x-k8s.io", "v1beta2", "research", "localqueues", "research"
    )
    assert queue["spec"]["clusterQueue"] == "research"


def test_a_neuron_node_has_devices_and_cores(api: client.ApiClient) -> None:
    """As Neuron's plugin publishes them; the pool assigns the cores."""
    core = client.CoreV1Api(api)

    def offered() -> dict[str, str]:
        allocatable = core.read_node("kinds-inferentia-0").status.allocatable or {}
        return {k: v for k, v in allocatable.items() if "/" in k}

    wanted = {"aws.amazon.com/neuron": "1", "aws.amazon.com/neuroncore": "2"}
    until(lambda: offered() == wanted, offered)


def test_scaling_monitoring_and_operators_objects_are_there(api: client.ApiClient) -> None:
    custom = client.CustomObjectsApi(api)
    scaled = custom.get_namespaced_custom_object(
        "keda.sh", "v1alpha1", "product", "scaledobjects", "vllm"
    )
    assert scaled["spec"]["minReplicaCount"] == 0
    rules = custom.get_namespaced_custom_object(
        "monitoring.coreos.com", "v1", "gpu-monitoring", "prometheusrules", "gpufleet"
    )
    names = [rule["alert"] for rule in rules["spec"]["groups"][1]["rules"]]
    assert {"GpuIdle", "GpuQueueStarved", "GpuXid"} <= set(names)
    for group, version, plural, name, namespace in (
        ("kubeflow.org", "v1", "pytorchjobs", "pretrain", "research"),
        ("apps.nvidia.com", "v1alpha1", "nimservices", "llama", "product"),
    ):
        assert custom.get_namespaced_custom_object(group, version, namespace, plural, name)
    maps = client.CoreV1Api(api).list_namespaced_config_map("gpu-monitoring").items
    drawn = {m.metadata.name for m in maps if "grafana_dashboard" in (m.metadata.labels or {})}
    assert drawn == {"gpufleet-fleet", "gpufleet-team", "gpufleet-slices", "gpufleet-cost"}


def test_the_api_server_takes_autoscalers_as_they_are_rendered(api: client.ApiClient) -> None:
    """Strictly: an unknown field would be an error, not a warning."""
    given = {
        "target": {"name": "vllm", "namespace": "product"},
        "min": 1,
        "max": 4,
        "on": [{"signal": "requestsRunning", "target": 12}, {"signal": "kvCache"}],
        "load": {"nodeSeconds": 7200, "modelSeconds": 7200},
    }
    strict = {"dry_run": "All", "field_validation": "Strict"}
    scaling = KedaScaling.model_validate({**given, "server": "http://prometheus:9090"})
    scaled = {**scaled_object(scaling), "metadata": {"name": "other", "namespace": "product"}}
    client.CustomObjectsApi(api).create_namespaced_custom_object(
        "keda.sh", "v1alpha1", "product", "scaledobjects", scaled, **strict
    )


def test_the_api_server_takes_nims_as_they_are_rendered(api: client.ApiClient) -> None:
    """Rules of the NIM operator's definitions included."""
    nim = Nim.model_validate(
        {
            "name": "other",
            "namespace": "product",
            "image": "nvcr.io/nim/meta/llama-3.2-1b-instruct",
            "tag": "1.8.4",
            "pool": "slices",
            "replicas": 4,
            "storage": {"sizeGib": 50, "shared": True},
        }
    )
    strict: Any = {"dry_run": "All", "field_validation": "Strict"}
    custom: Any = client.CustomObjectsApi(api)
    where = ("apps.nvidia.com", "v1alpha1", "product")
    custom.create_namespaced_custom_object(*where, "nimcaches", nim_cache(nim), **strict)
    custom.create_namespaced_custom_object(*where, "nimservices", nim_service(nim), **strict)
    monitored = nim_service(nim)
    monitored["spec"]["metrics"] = {"enabled": True}
    with pytest.raises(client.ApiException, match="serviceMonitor must say something"):
        custom.create_namespaced_custom_object(*where, "nimservices", monitored, **strict)


def test_a_cache_of_a_model_cannot_be_changed(api: client.ApiClient) -> None:
    custom = client.CustomObjectsApi(api)
    patch = {"spec": {"storage": {"pvc": {"size": "60Gi"}}}}
    with pytest.raises(client.ApiException, match="cannot be changed"):
        custom.patch_namespaced_custom_object(
            "apps.nvidia.com", "v1alpha1", "product", "nimcaches", "llama", patch, dry_run="All"
        )

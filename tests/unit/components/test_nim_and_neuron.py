from typing import Any

import pytest

from gpufleet.addons.neuron_device_plugin import NeuronDevicePlugin
from gpufleet.addons.nim import NimOperator, NimService
from gpufleet.components_base.inputs import InvalidArgumentsError
from gpufleet.render.nim import validate_nim
from gpufleet.spec.nim import Nim

RELEASE = "kubernetes:helm.sh/v3:Release"
CACHE = "kubernetes:apps.nvidia.com/v1alpha1:NIMCache"
SERVICE = "kubernetes:apps.nvidia.com/v1alpha1:NIMService"
NIM: dict[str, Any] = {
    "name": "llama",
    "namespace": "product",
    "image": "nvcr.io/nim/meta/llama-3.2-1b-instruct",
    "tag": "1.8.4",
    "pool": "slices",
    "resource": "nvidia.com/mig-2g.20gb",
    "storage": {"size_gib": 50},
}


def test_the_operator_is_pinned(run: Any) -> None:
    recorded = run(lambda: NimOperator("nim", {"catalogue": "2026.11"}))
    release = recorded.one(RELEASE).inputs
    assert (release["chart"], release["version"]) == ("k8s-nim-operator", "3.1.2")
    assert release["namespace"] == "nim-operator"


def test_the_model_is_cached_before_it_serves(run: Any) -> None:
    recorded = run(lambda: NimService("llama", {"nim": NIM}))  # type: ignore[arg-type]
    cache, service = recorded.one(CACHE), recorded.one(SERVICE)
    assert service.depends_on == ["llama-cache"]
    source = cache.inputs["spec"]["source"]["ngc"]
    assert source["modelPuller"] == "nvcr.io/nim/meta/llama-3.2-1b-instruct:1.8.4"
    assert source["authSecret"] == "ngc-api-secret"
    assert source["model"] == {"tensorParallelism": "1"}
    spec = service.inputs["spec"]
    assert spec["resources"] == {"limits": {"nvidia.com/mig-2g.20gb": "1"}}
    assert spec["storage"] == {"nimCache": {"name": cache.inputs["metadata"]["name"]}}
    assert cache.inputs["metadata"]["name"].startswith("llama-")
    assert spec["nodeSelector"] == {"gpufleet.dev/pool": "slices"}
    assert spec["startupProbe"]["probe"]["failureThreshold"] == 180
    assert spec["replicas"] == 1
    assert recorded.warnings == []


def test_one_volume_for_many_nodes_is_told(run: Any) -> None:
    nim = {**NIM, "replicas": 4}
    (warned,) = run(lambda: NimService("llama", {"nim": nim})).warnings  # type: ignore[arg-type]
    assert "only one node can mount" in warned


@pytest.mark.parametrize(("name", "warned"), [("3b", True), ("llama-3b", False)])
def test_a_service_before_1_36_begins_with_a_letter(name: str, warned: bool) -> None:
    """KEP-5311, RelaxedServiceNameValidation: alpha in 1.34, beta in 1.36."""
    nim = Nim.model_validate({**NIM, "name": name}, by_name=True)
    assert ("nim-name-begins-with-digit" in {one.code for one in validate_nim(nim)}) is warned


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"tag": "latest"}, "nim-tag-not-pinned"),
        ({"image": "nvcr.io/nim/x:1.0"}, "nim-image-with-tag"),
        ({"model": {"tensor_parallelism": 2}}, "nim-parallelism-over-count"),
        ({"model": {"tensor_parallelism": 2}, "count": 2}, "nim-parallelism-on-slices"),
        ({"name": "n" * 51}, "nim-name-too-long"),
        ({"storage": {}}, "argument-missing"),
    ],
)
def test_a_nim_that_cannot_work(run: Any, wrong: dict[str, Any], code: str) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            NimService("llama", {"nim": {**NIM, **wrong}})  # type: ignore[typeddict-item]
        assert code in str(caught.value)

    assert run(program).resources == []


def test_neurons_plugin_and_scheduler(run: Any) -> None:
    given: Any = {
        "catalogue": "2026.11",
        "scheduler": True,
        "tolerations": [{"key": "team", "effect": "NoSchedule"}],
    }
    recorded = run(lambda: NeuronDevicePlugin("neuron", given))
    release = recorded.one(RELEASE).inputs
    assert release["chart"] == "oci://public.ecr.aws/neuron/neuron-helm-chart"
    values = release["values"]
    assert values["scheduler"] == {"enabled": True}
    assert values["npd"] == {"enabled": True, "nodeRecovery": {"enabled": False}}
    keys = [t["key"] for t in values["devicePlugin"]["tolerations"]]
    assert keys == [
        "CriticalAddonsOnly",
        "aws.amazon.com/neuron",
        "sagemaker.amazonaws.com/node-health-status",
        "team",
    ]
    assert "neuronInstances" not in values  # the chart's own list


def test_recovery_needs_somebody_who_tells(run: Any) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            NeuronDevicePlugin(
                "neuron",
                {"catalogue": "2026.11", "node_problem_detector": False, "node_recovery": True},
            )
        assert "neuron-recovery-without-detector" in str(caught.value)

    assert run(program).resources == []

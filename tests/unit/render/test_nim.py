"""NIMCache and NIMService compared with the operator's definitions and its controller."""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.render.nim import cache_name, nim_cache, nim_service
from gpufleet.spec.nim import Nim
from tests.reading import yaml_data, yaml_documents
from tests.unit.render.upstream_definitions import assert_fits, problems_of

ROOT = Path(__file__).parents[3]
DEFINITIONS = ROOT / "sandbox/gpufleet_sandbox/crds"
EXAMPLE = ROOT / "examples/workload-kinds/manifests/nim.yaml"
PLAIN: dict[str, Any] = {
    "name": "llama",
    "namespace": "product",
    "image": "nvcr.io/nim/meta/llama-3.2-1b-instruct",
    "tag": "1.8.4",
    "pool": "slices",
    "storage": {"sizeGib": 50},
}


def nim(**more: Any) -> Nim:
    return Nim.model_validate({**PLAIN, **more})


def definition(kind: str) -> dict[str, Any]:
    path = DEFINITIONS / f"apps.nvidia.com_{kind.lower()}s.yaml"
    return yaml_data(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"metrics": False, "queue": "team", "replicas": 0},
        {"replicas": 4, "storage": {"sizeGib": 50, "shared": True, "storageClass": "efs"}},
        {
            "model": {
                "profiles": ["4f904d571fe60ff24695b5ee2aa42da58cb460787a968f1e8a09f5a7e862728d"]
            }
        },
        {
            "model": {"engine": "vllm", "precision": "bf16"},
            "monitorLabels": {"release": "prometheus"},
        },
    ],
)
def test_both_objects_fit_the_operators_definitions(more: dict[str, Any]) -> None:
    assert_fits(definition("NIMCache"), nim_cache(nim(**more)))
    assert_fits(definition("NIMService"), nim_service(nim(**more)))


def test_the_example_fits_too() -> None:
    for document in yaml_documents(EXAMPLE.read_text(encoding="utf-8")):
        assert_fits(definition(document["kind"]), document)


def test_a_misspelt_field_would_be_seen() -> None:
    made = nim_service(nim())
    made["spec"]["startupProbes"] = made["spec"].pop("startupProbe")
    assert problems_of(definition("NIMService"), made)


def test_the_model_is_not_fetched_on_a_gpu_node() -> None:
    """The operator's own selector is the NVIDIA device's label, and its job tolerates no taint."""
    assert nim_cache(nim())["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    zonal = nim_cache(nim(storage={"sizeGib": 50, "zone": "us-east-1a"}))["spec"]
    assert zonal["nodeSelector"]["topology.kubernetes.io/zone"] == "us-east-1a"


def test_the_monitor_is_never_empty() -> None:
    assert nim_service(nim())["spec"]["metrics"] == {
        "enabled": True,
        "serviceMonitor": {"interval": "30s"},
    }
    labelled = nim_service(nim(monitorLabels={"release": "prometheus"}))["spec"]["metrics"]
    assert labelled["serviceMonitor"]["additionalLabels"] == {"release": "prometheus"}
    assert nim_service(nim(metrics=False))["spec"]["metrics"] == {"enabled": False}


def test_another_model_is_another_cache() -> None:
    """The operator fills a cache once: a changed one would be refused, or never fetched."""
    first = nim()
    for changed in (nim(tag="1.8.5"), nim(storage={"sizeGib": 60}), nim(model={"engine": "vllm"})):
        assert cache_name(changed) != cache_name(first)
        used = nim_service(changed)["spec"]["storage"]["nimCache"]["name"]
        assert used == nim_cache(changed)["metadata"]["name"] == cache_name(changed)
    assert cache_name(nim(replicas=2, port=9000)) == cache_name(first)


def test_the_longest_name_fits_the_job_of_the_operator() -> None:
    assert len(f"{cache_name(nim(name='n' * 50))}-job") <= 63

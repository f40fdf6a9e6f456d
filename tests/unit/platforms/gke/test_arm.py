"""A4X on GKE: Arm nodes with Google's own taint, and one NVLink domain for each node pool."""

from typing import Any

import pytest

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.platforms.gke.node_pool_arguments import node_pools, workload_policies
from gpufleet.platforms.gke.shape import ARM_TAINT
from gpufleet.render.artefacts import artefacts
from tests.reading import yaml_documents


def compiled(machine: str = "a4x-highgpu-4g", most: int = 18, **more: Any) -> Compiled:
    reserved = {"reserved": {"id": "gb", "zone": "us-central1-b"}}
    pool = {
        "name": "wide",
        "instanceTypes": [machine],
        "nodes": {"min": 0, "max": most},
        "intent": "training",
        "capacity": [reserved],
        **more,
    }
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": {"name": "ml", "region": "us-central1"},
            "pools": [pool],
            "queues": {"teams": [{"name": "research", "share": 1}]},
            "monitoring": {},
        }
    )


def documents(fleet: Fleet, path: str) -> list[dict[str, Any]]:
    (found,) = [one for one in artefacts(fleet) if one.path == path]
    return list(yaml_documents(found.text))


@pytest.mark.parametrize("machine", ["a4x-highgpu-4g", "a4x-maxgpu-4g-metal"])
def test_everything_that_runs_there_tolerates_gkes_taint(machine: str) -> None:
    fleet = compiled(machine).fleet
    assert ARM_TAINT in fleet.pools[0].taints
    (pod,) = documents(fleet, "pods/wide.yaml")
    (flavor,) = documents(fleet, "manifests/kueue/resource-flavors.yaml")
    (exporter,) = documents(fleet, "values/dcgm-exporter.yaml")
    for tolerations in (pod["spec"]["tolerations"], exporter["tolerations"]):
        assert "kubernetes.io/arch" in {one["key"] for one in tolerations}
    # Not for them: Kueue sends jobs with images of x86 elsewhere.
    taint = {"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}
    assert taint in flavor["spec"]["nodeTaints"]
    assert "kubernetes.io/arch" not in {one["key"] for one in flavor["spec"]["tolerations"]}


def test_the_taint_is_gkes_to_write() -> None:
    (arguments,) = node_pools(compiled().fleet.pools[0], "ml", {}).values()
    assert [one["key"] for one in arguments["nodeConfig"]["taints"]] == ["nvidia.com/gpu"]


def test_machines_of_x86_have_no_such_taint() -> None:
    pool = compiled("a4-highgpu-8g").fleet.pools[0]
    assert ARM_TAINT not in pool.taints
    assert workload_policies(pool, "ml", "us-central1") == {}


def test_a_node_pool_is_one_nvlink_domain() -> None:
    pool = compiled().fleet.pools[0]
    (policy,) = workload_policies(pool, "ml", "us-central1").values()
    assert policy["workloadPolicy"] == {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"}
    (arguments,) = node_pools(pool, "ml", {}).values()
    assert arguments["placementPolicy"] == {"type": "COMPACT", "policyName": policy["name"]}


def test_who_applies_the_file_by_hand_is_told_of_the_policy() -> None:
    files = {one.path: one.text for one in artefacts(compiled().fleet)}
    head = files["clouds/gke/wide.yaml"].splitlines()[:2]
    assert head[0].startswith("# Create this resource policy first")
    assert head[1] == (
        "# ml-wide, workloadPolicy of type HIGH_THROUGHPUT, acceleratorTopology 1x72"
    )
    plain = {one.path: one.text for one in artefacts(compiled("a4-highgpu-8g").fleet)}
    assert not plain["clouds/gke/wide.yaml"].startswith("#")


def test_more_machines_than_a_domain_has_are_refused() -> None:
    (found,) = [one for one in compiled(most=19).findings if one.code == "gke-nvlink-domain-size"]
    assert (found.path, found.evidence["limit"]) == ("pools[0].nodes.max", 18)
    assert not compiled(most=19).deployable
    assert compiled(most=18).deployable

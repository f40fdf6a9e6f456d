"""Fleets in clusters of Autopilot mode.

Expected by GKE documentation: "GKE always creates and manages nodes and node pools" (node pool
auto-creation), the Baseline policy of Pod Security Standards (Autopilot security capabilities),
which allows neither privileged containers nor folders of the node.
"""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts

CLASS = {"provisioner": "computeClass", "nodes": {"min": 0, "max": 4}}
L4 = {"name": "chat", "gpu": "L4", **CLASS}


def compiled(pool: dict[str, Any], **more: Any) -> Any:
    cluster = {"name": "ml", "region": "us-central1", "autopilot": True}
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "gke",
            "cluster": cluster,
            "pools": [pool],
            **more,
        }
    )


def test_pods_select_the_class_for_which_gke_makes_nodes() -> None:
    result = compiled(L4)
    assert result.deployable
    (limit,) = result.findings
    assert limit.code == "compute-class-without-limit"
    assert "auto-provisioning" not in str(limit.fix)  # a setting of Standard clusters
    texts = {one.path: one.text for one in artefacts(result.fleet)}
    assert "cloud.google.com/compute-class: chat" in texts["pods/chat.yaml"]
    assert not [path for path in texts if path.startswith("provider/")]


@pytest.mark.parametrize(
    ("pool", "more", "code", "path"),
    [
        (
            {**L4, "provisioner": "managed"},
            {},
            "autopilot-makes-node-pools",
            "pools[0].provisioner",
        ),
        (
            {**L4, "provisioner": "managed", "gke": {"driver": "gpuOperator"}},
            {},
            "autopilot-refuses-privileges",
            "addons.gpuOperator",
        ),
        (L4, {"monitoring": {}}, "autopilot-refuses-privileges", "monitoring"),
        (
            L4,
            {"addons": {"draDriver": {"enabled": True}}},
            "autopilot-refuses-privileges",
            "addons.draDriver",
        ),
        (L4 | {"sharing": {"mps": {"replicas": 4}}}, {}, "compute-class-sharing", None),
    ],
)
def test_what_autopilot_refuses_is_refused_before(
    pool: dict[str, Any], more: dict[str, Any], code: str, path: str | None
) -> None:
    result = compiled(pool, **more)
    found = [one for one in result.findings if one.code == code]
    assert found
    assert path is None or path in {one.path for one in found}
    assert not result.deployable


def test_pools_that_exist_are_left_alone() -> None:
    pool = {**L4, "provisioner": "managed", "ownership": "existing"}
    assert "autopilot-makes-node-pools" not in {one.code for one in compiled(pool).findings}


@pytest.mark.parametrize(
    ("machine", "asked"),
    [("a3-highgpu-8g", []), ("g2-standard-4", []), ("a4-highgpu-8g", ["nvidia-b200"])],
)
def test_a_gpu_that_the_list_of_autopilot_lacks_is_not_validated(
    machine: str, asked: list[str]
) -> None:
    """The list in the error of the admission rule `autogke-gpu-limitation` in May 2025."""
    pool = {"name": "p", "instanceTypes": [machine], **CLASS, "capacity": [{"spot": {}}]}
    found = [one for one in compiled(pool).findings if one.code == "autopilot-gpu-not-validated"]
    assert [one.evidence["found"] for one in found] == asked
    for one in found:
        assert (one.severity.value, one.path) == ("info", "pools[0].instanceTypes")
        assert "gke-accelerator: nvidia-b200" in (one.fix or "")

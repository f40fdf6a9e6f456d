"""Confidential nodes: what GKE's page on them allows, and what NVIDIA lists no support of."""

from typing import Any

import pytest

from gpufleet.platforms.gke.node_pool_arguments import node_pools
from tests.unit.platforms.gke.fleet_pools import QUEUED, RESERVED, SPOT, ZONE, compiled, found, gke

POOL = {"instanceTypes": ["a3-highgpu-1g"], **ZONE, "capacity": [SPOT], **gke(confidential=True)}


def test_the_machine_that_the_page_names() -> None:
    made = compiled(POOL)
    assert made.deployable
    (pool,) = node_pools(made.fleet.pools[0], "ml", {}).values()
    assert pool["nodeConfig"]["confidentialNodes"] == {
        "enabled": True,
        "confidentialInstanceType": "TDX",
    }
    plain = compiled({**POOL, "gke": {}}).fleet.pools[0]
    (other,) = node_pools(plain, "ml", {}).values()
    assert "confidentialNodes" not in other["nodeConfig"]


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"instanceTypes": ["a3-highgpu-8g"]}, "gke-confidential-machine", "gke.confidential"),
        ({"instanceTypes": ["g2-standard-4"]}, "gke-confidential-machine", "gke.confidential"),
        (
            {"sharing": {"mig": {"strategy": "single", "layout": "all-1g.10gb"}}},
            "gke-confidential-mig",
            "sharing.mig",
        ),
        ({"capacity": [RESERVED]}, "gke-confidential-purchase", "capacity[0]"),
        ({"capacity": [{"flexStart": {}}]}, "gke-confidential-purchase", "capacity[0]"),
        ({"provisioner": "computeClass"}, "compute-class-decides", "gke.confidential"),
    ],
)
def test_what_is_refused(change: dict[str, Any], code: str, path: str) -> None:
    assert found({**POOL, **change})[code][0] == f"pools[0].{path}"
    assert code not in found({**POOL, **change, "gke": {}})


def test_other_purchases_of_the_page() -> None:
    for entry in (SPOT, QUEUED):
        assert "gke-confidential-purchase" not in found({**POOL, "capacity": [entry]})


def test_the_release_that_has_it() -> None:
    path, message = found(POOL, "1.31")["gke-version-too-old"]
    assert path == "pools[0].gke.confidential"
    assert "1.32.2-gke.1297000" in message
    assert "gke-version-too-old" not in found(POOL, "1.32")


def test_the_driver_is_googles() -> None:
    """GoogleCloudPlatform/container-engine-accelerators#449: another installer is needed there."""
    by_operator = {**POOL, "gke": {"confidential": True, "driver": "gpuOperator"}}
    assert found(by_operator)["gke-confidential-driver"][0] == "pools[0].gke.driver"
    assert "gke-confidential-driver" not in found(POOL)
    assert "gke-confidential-driver" not in found({**POOL, "gke": {"driver": "gpuOperator"}})


def test_parts_of_a_gpu_have_another_installer() -> None:
    parts = {"instanceTypes": ["g4-standard-12"], "gke": {"driver": "gpuOperator"}}
    assert "gke-parts-driver" in found(parts, "1.36")
    assert "gke-parts-driver" not in found({**parts, "gke": {}}, "1.36")
    assert "gke-parts-driver" not in found({**parts, "instanceTypes": ["g4-standard-48"]}, "1.36")

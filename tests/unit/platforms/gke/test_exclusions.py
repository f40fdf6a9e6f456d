"""Options of GKE pools that exclude each other: each pair is refused with the path of a field."""

from typing import Any

import pytest

from tests.unit.platforms.gke.fleet_pools import (
    FLEX,
    H100,
    L4,
    QUEUED,
    RESERVED,
    SPOT,
    ZONE,
    compiled,
    found,
    gke,
)

T4 = {"gpu": "T4", "gpusPerNode": 4, "instanceTypes": ["n1-standard-32"]}
_SSDS = "pools[0].gke.localSsds"


@pytest.mark.parametrize(
    ("pool", "most"),
    [
        ({"instanceTypes": ["a2-highgpu-2g"], **gke(localSsds=8, compactPlacement=True)}, 150),
        ({"instanceTypes": ["g2-standard-24"], **gke(localSsds=2, compactPlacement=True)}, 150),
        ({"instanceTypes": ["g4-standard-96"], **gke(localSsds=8, compactPlacement=True)}, 1500),
        ({**H100, **gke(localSsds=16, compactPlacement=True)}, 96),
        ({**T4, **gke(localSsds=24)}, 2000),
        ({**L4, **gke(localSsds=0, diskType="pd-ssd")}, 2000),
    ],
)
def test_what_machines_take_is_taken(pool: Any, most: int) -> None:
    """k8s.io/gke-autoscaling `machinetypes`."""
    result = compiled({**pool, **ZONE, "nodes": {"min": 0, "max": most}})
    assert [one for one in result.findings if one.severity.value == "error"] == []


@pytest.mark.parametrize(
    ("pool", "code", "path"),
    [
        (
            {**L4, "capacity": [QUEUED, SPOT]},
            "capacity-not-combinable",
            "pools[0].capacity[0].queued",
        ),
        (
            {
                "instanceTypes": ["a3-ultragpu-8g"],
                "capacity": [SPOT],
                **ZONE,
                "fabric": "rdma",
                "image": "ubuntu-gke",
            },
            "gke-arguments-exclude-each-other",
            "pools[0].gke.nodePool.nodeConfig.imageType",
        ),
        (
            {**L4, "image": "ubuntu-gke", **gke(fastSocket=True)},
            "gke-arguments-exclude-each-other",
            "pools[0].gke.nodePool.nodeConfig.imageType",
        ),
        (
            {**L4, **ZONE, "capacity": [QUEUED, RESERVED]},
            "capacity-not-combinable",
            "pools[0].capacity[0].queued",
        ),
        (
            {**L4, "capacity": [SPOT], **gke(openReservations=True)},
            "gke-open-reservations-not-on-demand",
            "pools[0].gke.openReservations",
        ),
        (
            {**L4, "capacity": [FLEX], **gke(openReservations=True)},
            "gke-open-reservations-not-on-demand",
            "pools[0].gke.openReservations",
        ),
        (
            {**L4, "capacity": [QUEUED], **gke(openReservations=True)},
            "gke-open-reservations-not-on-demand",
            "pools[0].gke.openReservations",
        ),
        (
            {**H100, **ZONE, "capacity": [QUEUED], **gke(compactPlacement=True)},
            "gke-compact-with-queued",
            "pools[0].gke.compactPlacement",
        ),
        (
            {**H100, **ZONE, "capacity": [FLEX], **gke(compactPlacement=True)},
            "gke-compact-with-flex-start",
            "pools[0].gke.compactPlacement",
        ),
        (
            {**H100, **ZONE, **gke(compactPlacement=True, upgrade={"strategy": "blueGreen"})},
            "gke-compact-with-blue-green",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {
                **H100,
                "zones": ["us-central1-a", "us-central1-b"],
                **gke(compactPlacement=True),
            },
            "gke-one-zone",
            "pools[0].zones",
        ),
        (
            {**H100, "fabric": "tcpx", "zones": ["us-central1-a", "us-central1-b"]},
            "gke-one-zone",
            "pools[0].zones",
        ),
        ({**H100, **gke(compactPlacement=True)}, "gke-zone-missing", "pools[0].zones"),
        (
            {**H100, "capacity": [{"reserved": {"id": "gpus"}}]},
            "gke-zone-missing",
            "pools[0].zones",
        ),
        (
            {**H100, "zones": ["us-central1-b"], "capacity": [RESERVED]},
            "gke-reservation-in-other-zone",
            "pools[0].zones",
        ),
        ({**L4, "zones": ["us-east1-b"]}, "zone-not-of-region", "pools[0].zones[0]"),
        (
            {**L4, "capacity": [FLEX], **gke(autoRepair=True)},
            "gke-auto-repair-with-flex-start",
            "pools[0].gke.autoRepair",
        ),
        (
            {**L4, "capacity": [QUEUED], **gke(autoRepair=True)},
            "gke-auto-repair-with-flex-start",
            "pools[0].gke.autoRepair",
        ),
        (
            {**L4, "capacity": [FLEX], "nodes": {"min": 1, "max": 2}},
            "gke-minimum-with-flex-start",
            "pools[0].nodes.min",
        ),
        (
            {**L4, "capacity": [QUEUED], "nodes": {"min": 1, "max": 2}},
            "gke-minimum-with-flex-start",
            "pools[0].nodes.min",
        ),
        (
            {**L4, **gke(upgrade={"strategy": "shortLived"})},
            "gke-short-lived-upgrade",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {**L4, "capacity": [FLEX], **gke(upgrade={"strategy": "blueGreen"})},
            "gke-blue-green-without-spare",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {**H100, "capacity": [RESERVED], **gke(upgrade={"strategy": "blueGreen"})},
            "gke-blue-green-without-spare",
            "pools[0].gke.upgrade.strategy",
        ),
        (
            {**H100, **gke(localSsds=8)},
            "gke-local-ssd-count",
            "pools[0].gke.localSsds",
        ),
        *(
            # k8s.io/gke-autoscaling `machinetypes`, withAllowedEphemeralLocalSsdCounts.
            ({"instanceTypes": [name], **gke(localSsds=count)}, "gke-local-ssd-count", _SSDS)
            for name, count in (
                ("a2-highgpu-1g", 3),
                ("a2-highgpu-2g", 1),
                ("a2-highgpu-8g", 4),
                ("g2-standard-4", 2),
                ("g2-standard-24", 1),
                ("g2-standard-96", 4),
                ("g4-standard-6", 1),
                ("g4-standard-384", 16),
            )
        ),
        (
            {**T4, **gke(localSsds=12)},
            "gke-local-ssd-count",
            _SSDS,
        ),
        # The same, supportedBootDiskTypes.
        ({**L4, **gke(diskType="pd-standard")}, "gke-disk-type", "pools[0].gke.diskType"),
        *(
            # The same, maxCompactPlacementNodes.
            (
                {
                    "instanceTypes": [name],
                    "nodes": {"min": 0, "max": most + 1},
                    **ZONE,
                    **gke(compactPlacement=True),
                },
                "gke-compact-nodes",
                "pools[0].nodes.max",
            )
            for name, most in (
                ("a2-highgpu-8g", 150),
                ("a3-highgpu-8g", 96),
                ("g2-standard-48", 150),
                ("g4-standard-384", 1500),
            )
        ),
        (
            {**T4, **ZONE, **gke(compactPlacement=True)},
            "gke-compact-not-offered",
            "pools[0].gke.compactPlacement",
        ),
        (
            {**L4, **gke(localSsdUse="raw")},
            "gke-raw-ssd-without-ssd",
            "pools[0].gke.localSsdUse",
        ),
        (
            {"instanceTypes": ["g4-standard-48"], **gke(diskType="pd-ssd")},
            "gke-disk-type",
            "pools[0].gke.diskType",
        ),
        (
            {**L4, **gke(acceleratorNetworkProfile="auto")},
            "gke-network-profile-machine",
            "pools[0].gke.acceleratorNetworkProfile",
        ),
        (
            {**H100, **ZONE, "fabric": "tcpx", **gke(fastSocket=True)},
            "gke-fast-socket-with-gpudirect",
            "pools[0].gke.fastSocket",
        ),
        (
            {**L4, "image": "ubuntu-gke", **gke(driver="gpuOperator", driverVersion="latest")},
            "gke-driver-version-of-operator",
            "pools[0].gke.driverVersion",
        ),
        (
            {**L4, **gke(driver="gpuOperator", secureBoot=True)},
            "gke-secure-boot-unsigned-driver",
            "pools[0].gke.secureBoot",
        ),
        (
            {**L4, "image": "ubuntu-gke", **gke(secureBoot=True)},
            "gke-secure-boot-unsigned-driver",
            "pools[0].gke.secureBoot",
        ),
        (
            {**L4, "image": "ubuntu-gke", **gke(imageStreaming=True)},
            "gke-image-streaming-needs-cos",
            "pools[0].gke.imageStreaming",
        ),
        (
            {**L4, "image": "ubuntu-gke", **gke(imageCache="projects/p/global/images/i")},
            "gke-image-streaming-needs-cos",
            "pools[0].gke.imageCache",
        ),
        (
            {**L4, "capacity": [{"onDemand": {}}, SPOT], "nodes": {"min": 1, "max": 2}},
            "gke-ladder-minimum",
            "pools[0].nodes.min",
        ),
        (
            {**L4, "capacity": [{"onDemand": {}}, SPOT], "importId": "p/l/c/n"},
            "gke-ladder-import",
            "pools[0].importId",
        ),
        (
            {"instanceTypes": ["g2-standard-4", "g2-standard-8"]},
            "gke-one-machine-type",
            "pools[0].instanceTypes",
        ),
        (
            {"gpu": "P4", "gpusPerNode": 1, "instanceTypes": ["n1-standard-32"]},
            "gke-host-too-large",
            "pools[0].instanceTypes",
        ),
        (
            {**H100, "capacity": [{"reserved": {"id": "GPUs!", "zone": "us-central1-a"}}]},
            "gke-reservation-name",
            "pools[0].capacity[0].reserved.id",
        ),
        (
            {
                **H100,
                "capacity": [
                    {"reserved": {"id": "g", "zone": "us-central1-a", "blocks": ["a", "b"]}}
                ],
            },
            "gke-one-reservation-block",
            "pools[0].capacity[0].reserved.blocks",
        ),
        (
            {**L4, **gke(nodePool={"nodeCount": 3})},
            "raw-argument-wired",
            "pools[0].gke.nodePool.nodeCount",
        ),
        (
            {**L4, **gke(tpuTopology="2x4")},
            "gke-tpu-topology-without-tpu",
            "pools[0].gke.tpuTopology",
        ),
        (
            {**L4, "provisioner": "clusterAutoscaler"},
            "provisioner-not-on-platform",
            "pools[0].provisioner",
        ),
        (
            {**L4, "provisioner": "karpenter"},
            "provisioner-not-on-platform",
            "pools[0].provisioner",
        ),
    ],
)
def test_what_excludes_each_other_is_named_with_its_path(
    pool: dict[str, Any], code: str, path: str
) -> None:
    errors = found(pool)
    assert errors.get(code, ("not found", ""))[0] == path, errors
    assert not compiled(pool).deployable


@pytest.mark.parametrize(
    ("reservation", "doubted"),
    [
        ("r", False),
        ("projects/acme/reservations/r", False),
        ("projects/other/reservations/r", True),
    ],
)
def test_a_block_of_a_shared_reservation_is_doubted(reservation: str, doubted: bool) -> None:
    """GoogleCloudPlatform/cluster-toolkit 01a7a3e `modules/compute/gke-node-pool/main.tf`: shared
    extended reservations are not supported by GKE."""
    reserved = {"id": reservation, "zone": "us-central1-a", "blocks": ["b-1"]}
    pool = {**H100, **ZONE, "capacity": [{"reserved": reserved}]}
    cluster = {"name": "ml", "region": "us-central1", "project": "acme"}
    result = compiled(pool, cluster=cluster)
    codes = [one.code for one in result.findings]
    assert ("gke-block-of-shared-reservation" in codes) is doubted

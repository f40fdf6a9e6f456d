"""Pods with GPUDirect have what Google's own test pods have, per machine.

Values are those of GoogleCloudPlatform/container-engine-accelerators: `gpudirect-tcpx/
nccl-test-latest.yaml` (0e5609b), `gpudirect-tcpxo/nccl-test-latest.yaml` (ced6fa7),
`gpudirect-rdma/nccl-test-a4.yaml` (af94872).
"""

import json
from typing import Any

import pytest

from gpufleet.change.differences import file_class
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.platforms.gke.daemon_sets import chosen_pools, gpudirect_objects
from gpufleet.render.artefact import ArtefactKind
from gpufleet.render.artefacts import artefacts
from gpufleet.render.platform_files import platform_files
from tests.reading import yaml_data, yaml_documents
from tests.unit.platforms.gke.fleet_pools import RESERVED, ZONE, compiled, gke, with_pools

GPUS = [f"/dev/nvidia{index}" for index in range(8)]
DEVICES = [*GPUS, "/dev/nvidiactl", "/dev/nvidia-uvm"]
MACHINES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "a3-highgpu-8g": ("tcpx", [{"onDemand": {}}]),
    "a3-megagpu-8g": ("tcpxo", [{"onDemand": {}}]),
    "a3-ultragpu-8g": ("rdma", [RESERVED]),
    "a4-highgpu-8g": ("rdma", [RESERVED]),
    "a4x-highgpu-4g": ("rdma", [RESERVED]),
}


def pod(machine: str, **options: Any) -> dict[str, Any]:
    """The fragment that `gpufleet render` writes."""
    fabric, capacity = MACHINES[machine]
    pool = {"instanceTypes": [machine], "fabric": fabric, "capacity": capacity, **ZONE}
    result = compiled({**pool, "intent": "training", **options})
    assert result.deployable, result.findings
    (text,) = [file.text for file in artefacts(result.fleet) if file.path == "pods/p.yaml"]
    (document,) = yaml_documents(text)
    return document


def networks(document: dict[str, Any]) -> list[str]:
    annotations = document["metadata"]["annotations"]
    assert annotations["networking.gke.io/default-interface"] == "eth0"
    listed = json.loads(annotations["networking.gke.io/interfaces"])
    assert [one["interfaceName"] for one in listed] == [f"eth{i}" for i in range(len(listed))]
    return [one["network"] for one in listed]


def containers(document: dict[str, Any]) -> list[dict[str, Any]]:
    """That of the job, and the daemon as a native sidecar: a plain container that never ends would
    keep the pod of a finished job running (Kubernetes, sidecar containers; so in NVIDIA/aicr,
    `docs/user/fabric-attached-training.md` at aed90c5)."""
    beside = document["spec"].get("initContainers", [])
    assert all(one["restartPolicy"] == "Always" for one in beside)
    return [*document["spec"]["containers"], *beside]


def volumes_are_mounted(document: dict[str, Any]) -> dict[str, str]:
    """Name -> folder of the node; each is mounted, and each mount has its volume."""
    volumes = {one["name"]: one for one in document["spec"]["volumes"]}
    mounted = {
        mount["name"] for container in containers(document) for mount in container["volumeMounts"]
    }
    assert mounted == set(volumes)
    assert volumes.pop("shared-memory")["emptyDir"] == {"medium": "Memory"}
    return {name: one["hostPath"]["path"] for name, one in volumes.items()}


def mounts(container: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["mountPath"] for one in container["volumeMounts"]}


def test_tcpx_has_its_daemon() -> None:
    document = pod("a3-highgpu-8g")
    assert networks(document) == ["default", "vpc1", "vpc2", "vpc3", "vpc4"]
    listed = yaml_data(document["metadata"]["annotations"]["devices.gke.io/container.tcpx-daemon"])
    assert [one["path"] for one in listed] == DEVICES
    main, daemon = containers(document)
    assert main["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert main["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    assert mounts(main)["tcpx-socket"] == "/tmp"
    assert daemon["name"] == "tcpx-daemon"
    assert daemon["command"][1:7] == [
        "--gpu_nic_preset",
        "a3vm",
        "--gpu_shmem_type",
        "fd",
        "--uds_path",
        "/run/tcpx",
    ]
    assert daemon["securityContext"]["capabilities"]["add"] == ["NET_ADMIN"]
    assert volumes_are_mounted(document) == {
        "libraries": "/home/kubernetes/bin/nvidia/lib64",
        "proc-sys": "/proc/sys",
        "sys": "/sys",
        "tcpx-socket": "/run/tcpx",
    }


def test_tcpxo_has_its_daemon() -> None:
    document = pod("a3-megagpu-8g")
    assert networks(document) == ["default", *(f"vpc{index}" for index in range(1, 9))]
    listed = yaml_data(document["metadata"]["annotations"]["devices.gke.io/container.tcpxo-daemon"])
    assert [one["path"] for one in listed] == [*DEVICES, "/dev/dmabuf_import_helper"]
    main, daemon = containers(document)
    assert daemon["name"] == "tcpxo-daemon"
    assert daemon["args"][0].endswith("--num_hops=2 --num_nics=8 --uid= --alsologtostderr")
    assert daemon["securityContext"]["capabilities"]["add"] == ["NET_ADMIN", "NET_BIND_SERVICE"]
    assert {one["name"]: one["value"] for one in main["env"]} == {
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64",
        "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": "/dev/aperture_devices",
    }
    assert volumes_are_mounted(document)["aperture-devices"] == "/dev/aperture_devices"


@pytest.mark.parametrize(
    ("machine", "interfaces"), [("a3-ultragpu-8g", 8), ("a4-highgpu-8g", 8), ("a4x-highgpu-4g", 4)]
)
def test_rdma_has_interfaces_and_libraries(machine: str, interfaces: int) -> None:
    document = pod(machine)
    assert networks(document) == [
        "default",
        "gvnic-1",
        *(f"rdma-{index}" for index in range(interfaces)),
    ]
    (main,) = document["spec"]["containers"]
    assert mounts(main) == {
        "nvidia": "/usr/local/nvidia",
        "gib": "/usr/local/gib",
        "shared-memory": "/dev/shm",
    }
    assert volumes_are_mounted(document) == {
        "nvidia": "/home/kubernetes/bin/nvidia",
        "gib": "/home/kubernetes/bin/gib",
    }


def test_networks_that_gke_makes_are_not_named() -> None:
    document = pod("a3-megagpu-8g", **gke(acceleratorNetworkProfile="auto"))
    assert "metadata" not in document
    assert len(document["spec"]["containers"]) == 1


@pytest.mark.parametrize(
    ("machine", "manifests"),
    [
        (
            "a3-highgpu-8g",
            [
                "gpudirect-tcpx/nccl-tcpx-installer.yaml",
                "nri_device_injector/nri-device-injector.yaml",
            ],
        ),
        (
            "a3-megagpu-8g",
            [
                "gpudirect-tcpxo/nccl-tcpxo-installer.yaml",
                "nri_device_injector/nri-device-injector.yaml",
            ],
        ),
        ("a4-highgpu-8g", ["gpudirect-rdma/nccl-rdma-installer.yaml"]),
        ("a4x-highgpu-4g", ["gpudirect-rdma/nccl-rdma-installer-a4x.yaml"]),
    ],
)
def test_the_installers_are_named(machine: str, manifests: list[str]) -> None:
    fabric, capacity = MACHINES[machine]
    pool = {"instanceTypes": [machine], "fabric": fabric, "capacity": capacity, **ZONE}
    off = {"gpuDirect": {"enabled": False}}
    (one,) = [
        one
        for one in compiled({**pool, "intent": "training"}, addons=off).findings
        if one.code == "gke-gpudirect-installer-needed"
    ]
    assert one.severity.value == "info"
    assert one.evidence["manifests"] == manifests


@pytest.mark.parametrize(
    ("machine", "image"),
    [
        ("a3-highgpu-8g", "gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.9"),
        ("a3-megagpu-8g", "gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.9-1"),
        ("a4-highgpu-8g", "gpudirect-gib/nccl-plugin-gib:v1.0.6"),
        ("a4x-highgpu-4g", "gpudirect-gib/nccl-plugin-gib-arm64:v1.0.4"),
    ],
)
def test_the_installers_are_made(machine: str, image: str) -> None:
    """Images of Google's manifests (see `daemon_sets.yaml`)."""
    fabric, capacity = MACHINES[machine]
    pool = {"instanceTypes": [machine], "fabric": fabric, "capacity": capacity, **ZONE}
    fleet = compiled({**pool, "intent": "training"}).fleet
    assert fleet is not None
    made = gpudirect_objects(fleet.pools, fleet.spec.addons.images)
    injected = fabric in {"tcpx", "tcpxo"}
    assert ("device-injector" in made) == injected
    assert len(made) == 1 + injected
    for manifest in made.values():
        assert not schema_problems(manifest)
        spec = manifest["spec"]["template"]["spec"]
        wanted = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        (chosen,) = wanted["nodeSelectorTerms"][0]["matchExpressions"]
        assert (chosen["key"], chosen["values"]) == ("gpufleet.dev/pool", [fleet.pools[0].name])
        assert spec["tolerations"] == [{"operator": "Exists"}]
        volumes = {volume["name"] for volume in spec["volumes"]}
        containers = [*spec.get("initContainers", ()), *spec["containers"]]
        mounted = {mount["name"] for one in containers for mount in one.get("volumeMounts", ())}
        assert mounted == volumes
    (installer,) = [one for kind, one in made.items() if kind != "device-injector"]
    images = {one["image"] for one in installer["spec"]["template"]["spec"]["initContainers"]}
    assert f"us-docker.pkg.dev/gce-ai-infra/{image}" in images


@pytest.mark.parametrize(
    ("machine", "asked", "plugin", "daemon", "written"),
    [
        ("a3-highgpu-8g", None, "v3.1.9", "v2.0.12", "/var/lib/tcpx/lib64/."),
        ("a3-highgpu-8g", "v3.1.12", "v3.1.12", "v2.0.15", "/var/lib/tcpx/lib64/."),
        ("a3-megagpu-8g", None, "v1.0.9-1", "v1.0.15", "/var/lib/tcpxo/lib64/."),
        ("a3-megagpu-8g", "v1.0.11", "v1.0.11", "v1.0.17", "/var/lib/tcpxo/lib64/."),
        ("a3-megagpu-8g", "v1.0.12", "v1.0.12", "v1.0.18", "/var/lib/tcpxo/lib64/."),
        ("a3-megagpu-8g", "v1.0.14", "v1.0.14", "v1.0.20", "/var/lib/tcpxo/lib64/."),
        ("a3-megagpu-8g", "v1.0.15", "v1.0.15", "v1.0.21", "/var/lib/tcpxo/lib64/."),
    ],
)
def test_plugin_and_daemon_are_of_one_release_and_meet_in_one_folder(
    machine: str, asked: str | None, plugin: str, daemon: str, written: str
) -> None:
    """Releases: `gpudirect-tcpx/README.md` (98c85a6) and `gpudirect-tcpxo/README.md` (0a2b482); the
    folder: `gpudirect-tcpx/nccl-tcpx-installer-autopilot.yaml` (4aeee0d)."""
    fabric, capacity = MACHINES[machine]
    chosen = {} if asked is None else gke(gpuDirectPlugin=asked)
    pool = {"instanceTypes": [machine], "fabric": fabric, "capacity": capacity, **ZONE, **chosen}
    fleet = compiled({**pool, "intent": "training"}).fleet
    assert fleet is not None
    suffix = fabric if asked is None else f"{fabric}-{asked.replace('.', '-')}"
    made = gpudirect_objects(fleet.pools, fleet.spec.addons.images)[suffix]
    spec = made["spec"]["template"]["spec"]
    install = spec["initContainers"][-1]
    assert install["image"].endswith(f":{plugin}")
    _, sidecar = containers(pod(machine, **chosen))
    assert sidecar["name"] == f"{fabric}-daemon"
    assert sidecar["image"].endswith(f":{daemon}")
    folders = {one["name"]: one["hostPath"]["path"] for one in spec["volumes"]}
    reached = {path: folders[name] for name, path in mounts(install).items()}
    copied = f"cp -r {written} /usr/local/nvidia/lib64"
    assert copied in install["args"][0].splitlines()
    assert reached["/var/lib"] == "/var/lib"
    read = volumes_are_mounted(pod(machine))["libraries"]
    assert read == f"{reached['/usr/local']}/nvidia/lib64"


MEGA = {"instanceTypes": ["a3-megagpu-8g"], "fabric": "tcpxo", "intent": "training", **ZONE}


@pytest.mark.parametrize(
    ("version", "chunk", "dropped"),
    [("v1.0.11", None, False), ("v1.0.12", "131072", True), ("v1.0.15", "131072", True)],
)
def test_pods_set_what_the_plugin_enforces(version: str, chunk: str | None, dropped: bool) -> None:
    """Release notes of 2025-08-21 (`gpudirect-tcpxo/README.md`, v1.0.12): the plugin aborts jobs
    without the variable, and the daemon takes two arguments less."""
    main, daemon = containers(pod("a3-megagpu-8g", **gke(gpuDirectPlugin=version)))
    env = {one["name"]: one["value"] for one in main["env"]}
    assert env.get("NCCL_NVLSTREE_MAX_CHUNKSIZE") == chunk
    assert daemon["args"][0].endswith("--num_hops=2 --num_nics=8") == dropped


def test_pools_with_other_versions_have_an_installer_of_their_own() -> None:
    def one(name: str, **options: Any) -> dict[str, Any]:
        return {"name": name, "nodes": {"min": 0, "max": 2}, **MEGA, **options}

    newer = gke(gpuDirectPlugin="v1.0.15")
    fleet = with_pools(one("a"), one("b"), one("c", **newer)).fleet
    made = gpudirect_objects(fleet.pools, fleet.spec.addons.images)
    assert {key: chosen_pools(manifest) for key, manifest in made.items()} == {
        "tcpxo": ["a", "b"],
        "tcpxo-v1-0-15": ["c"],
        "device-injector": ["a", "b", "c"],
    }
    names = [manifest["metadata"]["name"] for manifest in made.values()]
    assert len(set(names)) == 3


def test_another_version_replaces_no_node() -> None:
    """The plugin's upgrade needs no new machine and no reboot (`gpudirect-tcpxo/README.md`)."""
    path = "manifests/gke/gpudirect-tcpxo-v1-0-15.yaml"
    assert file_class(path, ArtefactKind.MANIFEST) is LeafClass.OPERAND


@pytest.mark.parametrize(
    ("pool", "code", "fix"),
    [
        (
            {**MEGA, **gke(gpuDirectPlugin="v1.0.3")},
            "gke-gpudirect-plugin-unknown",
            "write one of v1.0.9-1, v1.0.11, v1.0.12, v1.0.14, v1.0.15",
        ),
        (
            {"gpu": "L4", **gke(gpuDirectPlugin="v1.0.15")},
            "gke-gpudirect-plugin-without-fabric",
            "remove gpuDirectPlugin, or write `fabric`",
        ),
    ],
)
def test_versions_without_a_release_are_refused(pool: Any, code: str, fix: str) -> None:
    result = compiled(pool)
    (finding,) = [one for one in result.findings if one.code == code]
    assert (finding.path, finding.fix) == ("pools[0].gke.gpuDirectPlugin", fix)
    assert not result.deployable


def test_installers_come_from_the_mirror_and_can_be_left_out() -> None:
    pool = {"instanceTypes": ["a3-megagpu-8g"], "fabric": "tcpxo", "intent": "training", **ZONE}
    fleet = compiled(pool, addons={"images": {"registry": "mirror.example.com"}}).fleet
    assert fleet is not None
    text = str(gpudirect_objects(fleet.pools, fleet.spec.addons.images))
    assert "pkg.dev" not in text
    assert "docker.io" not in text
    assert "mirror.example.com/library/ubuntu:24.04" in text
    (pods,) = [one.text for one in artefacts(fleet) if one.path == "pods/p.yaml"]
    _, daemon = containers(yaml_data(pods))
    assert daemon["image"].startswith("mirror.example.com/gce-ai-infra/gpudirect-tcpxo/")

    def files(**addons: Any) -> list[str]:
        one = compiled(pool, addons=addons).fleet
        assert one is not None
        return [artefact.path for artefact in platform_files(one.platform).cluster_files(one)]

    assert files() == [
        "manifests/gke/gpudirect-tcpxo.yaml",
        "manifests/gke/gpudirect-device-injector.yaml",
    ]
    assert files(gpuDirect={"enabled": False}) == []

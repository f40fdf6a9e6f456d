"""Google's programs on the nodes of a fleet: DaemonSets with NCCL's plugins, devices for the daemon
of a pod, and NVIDIA's driver. Their pods are in `daemon_sets.yaml`, with sources.

They select nodes by the pools of the fleet instead of by the GPU: not every machine with an H100
has GPUDirect. Pools of the GPU Operator need the driver's installer on Container-Optimized OS,
where GKE installs none and the operator's own driver does not run (NVIDIA cloud-native-docs
`gpu-operator/google-gke.rst`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpufleet.contract.dra import driver_root
from gpufleet.documents.data_files import data_part
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.manifest import MANAGED_BY, manifest
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.gke.facts import FACTS
from gpufleet.platforms.gke.gpudirect import (
    RELEASES,
    default_version,
    gpudirect_kind,
    plugin_version,
)
from gpufleet.spec.base import Ownership
from gpufleet.spec.images import Images
from gpufleet.spec.platforms.gke import GkeOptions
from gpufleet.spec.pool import Fabric

_FILE = Path(__file__).with_suffix("")
NAMESPACE = "kube-system"
INSTALLER = "gpufleet-nccl-"
"""Prefix of the names of DaemonSets with a plugin of NCCL."""
DRIVER = "driver-installer"
_INJECTOR = "device-injector"


def google_daemon_sets(fleet: Fleet) -> dict[str, tuple[str, dict[str, Any]]]:
    """Name of the file and the resource -> its purpose, and the DaemonSet."""
    addons = fleet.spec.addons
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    if addons.driver_installer.enabled:
        for name, manifest in driver_installers(fleet.pools, addons.images).items():
            found[name] = "NVIDIA's driver on nodes of the GPU Operator", manifest
    if addons.gpu_direct.enabled:
        for kind, manifest in gpudirect_objects(fleet.pools, addons.images).items():
            purpose = f"NCCL's plugin for {kind} on the nodes of its pools"
            if kind == _INJECTOR:
                purpose = "devices for the daemon of GPUDirect in a pod"
            found[f"gpudirect-{kind}"] = purpose, manifest
    return found


def gpudirect_objects(pools: Sequence[Pool], images: Images) -> dict[str, dict[str, Any]]:
    """Name -> DaemonSet of GPUDirect, for the pools of a fleet on GKE."""
    users: dict[tuple[str, str], list[str]] = {}
    injected: list[str] = []
    for pool in pools:
        kind = gpudirect_kind(pool)
        if kind is None:
            continue
        users.setdefault((kind, plugin_version(pool, kind)), []).append(pool.name)
        if pool.fabric in {Fabric.TCPX, Fabric.TCPXO}:
            injected.append(pool.name)
    made: dict[str, dict[str, Any]] = {}
    for (kind, version), names in users.items():
        default = version == default_version(kind)
        suffix = kind if default else f"{kind}-{version.replace('.', '-')}"
        pod = _pod(kind, images, RELEASES[kind][version].plugin)
        made[suffix] = daemon_set(f"{INSTALLER}{suffix}", names, pod)
    if injected:
        made[_INJECTOR] = daemon_set(f"gpufleet-{_INJECTOR}", injected, _pod(_INJECTOR, images))
    return made


def needs_installer(pool: Pool) -> bool:
    """Whether neither GKE nor the operator installs the driver of the pool's nodes."""
    if pool.served_by_platform or pool.gpu.vendor != "nvidia":
        return False
    return driver_root(pool.image, pool.platform) == FACTS.driver_root


def driver_installers(pools: Sequence[Pool], images: Images) -> dict[str, dict[str, Any]]:
    """Name -> DaemonSet of the driver's installer, for the pools that the fleet creates."""
    users: dict[str, list[str]] = {}
    for pool in pools:
        if needs_installer(pool) and pool.ownership is not Ownership.EXISTING:
            latest = (pool.spec.gke or GkeOptions()).driver_version == "latest"
            arm = pool.machines[0].architecture == "arm64"
            name = f"{DRIVER}-arm64" if arm else f"{DRIVER}-latest" if latest else DRIVER
            users.setdefault(name, []).append(pool.name)
    return {
        name: daemon_set(f"gpufleet-{name}", names, _pod(name, images))
        for name, names in sorted(users.items())
    }


def _pod(kind: str, images: Images, plugin: str = "") -> dict[str, Any]:
    """Containers and volumes of one kind, with images from the fleet's source. An image that is
    never pulled is already on the node."""
    pod = data_part(_FILE, kind, plugin=plugin)
    for one in (*pod.get("initContainers", ()), *pod["containers"]):
        if one.get("imagePullPolicy") != "Never":
            one["image"] = mirrored(one["image"], images)
    return pod


def daemon_set(name: str, pools: Sequence[str], pod: Mapping[str, Any]) -> dict[str, Any]:
    """A DaemonSet with the containers and volumes of a pod, on the nodes of some pools of the
    fleet."""
    own = {"app.kubernetes.io/name": name}
    known = {"own": own, "labels": {**MANAGED_BY, **own}, "label": POOL_LABEL}
    spec = data_part(_FILE, "spec", pools=sorted(pools), **known)
    spec["template"]["spec"] |= pod
    return manifest("apps/v1", "DaemonSet", name, NAMESPACE, own, spec=spec)


def chosen_pools(daemon_set: Mapping[str, Any]) -> list[str]:
    """Pools whose nodes a DaemonSet of a fleet runs on."""
    found: Any = daemon_set
    for key in ("spec", "template", "spec", "affinity", "nodeAffinity"):
        found = mapping(found.get(key))
    wanted = mapping(found.get("requiredDuringSchedulingIgnoredDuringExecution"))
    return [
        str(value)
        for term in items(wanted.get("nodeSelectorTerms"))
        for chosen in items(mapping(term).get("matchExpressions"))
        if mapping(chosen).get("key") == POOL_LABEL
        for value in items(mapping(chosen).get("values"))
    ]

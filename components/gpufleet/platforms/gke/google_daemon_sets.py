"""Everything of Google's that runs on the nodes of a fleet by a DaemonSet of the fleet."""

from typing import Any

from gpufleet.fleet.model import Fleet
from gpufleet.platforms.gke.driver_installers import driver_installers
from gpufleet.platforms.gke.gpudirect_installers import gpudirect_objects


def google_daemon_sets(fleet: Fleet) -> dict[str, tuple[str, dict[str, Any]]]:
    """Name of the file and the resource -> what it is for, and the DaemonSet."""
    addons = fleet.spec.addons
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    if addons.driver_installer.enabled:
        for name, manifest in driver_installers(fleet.pools, addons.images).items():
            found[name] = "NVIDIA's driver on nodes of the GPU Operator", manifest
    if addons.gpu_direct.enabled:
        for kind, manifest in gpudirect_objects(fleet.pools, addons.images).items():
            purpose = f"NCCL's plugin for {kind} on the nodes of its pools"
            if kind == "device-injector":
                purpose = "devices for the daemon of GPUDirect in a pod"
            found[f"gpudirect-{kind}"] = purpose, manifest
    return found

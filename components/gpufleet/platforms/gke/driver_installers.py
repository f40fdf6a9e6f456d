"""Google's installer of NVIDIA's driver, on Container-Optimized OS where GKE installs none.

Pools of the GPU Operator need it: the operator's own driver does not run there (NVIDIA
cloud-native-docs `gpu-operator/google-gke.rst`). Folders, variables and commands are those of
GoogleCloudPlatform/container-engine-accelerators `nvidia-driver-installer/cos/
daemonset-preloaded.yaml` and `daemonset-preloaded-latest.yaml` (068b15a) and
`daemonset-preloaded-latest-a4x.yaml` (4e822ce), read 2026-11-28. Their third step, which partitions
GPUs as `/etc/nvidia/gpu_config.json` says, is left out: the operator's MIG manager does that.
The image is on the node already, so it is never pulled, from a mirror neither.
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.contract.dra import driver_root
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.daemon_sets import daemon_set, host_folders, pause, privileged
from gpufleet.platforms.gke.facts import FACTS
from gpufleet.spec.base import Ownership
from gpufleet.spec.images import Images
from gpufleet.spec.platforms.gke import GkeOptions

NAME = "driver-installer"
_PRELOADED = "cos-nvidia-installer:fixed"
_PRELOADED_ARM = "us.gcr.io/cos-cloud/cos-gpu-installer:v2.4.7"
_INSTALL = "/cos-gpu-installer install --version=latest"
_ONCE_ON_ARM = f"""\
lsmod | grep nvidia && exit 0
{_INSTALL} || exit 1
chmod 755 /usr/local/nvidia
"""
_HOME = FACTS.driver_root
_FOLDERS = {
    "libraries": ("NVIDIA_INSTALL_DIR", _HOME, "/usr/local/nvidia"),
    "vulkan": ("VULKAN_ICD_DIR", f"{_HOME}/vulkan/icd.d", "/etc/vulkan/icd.d"),
    "cos-tools": ("COS_TOOLS_DIR", "/var/lib/cos-tools", "/build/cos-tools"),
}
"""Volume -> beginning of its two variables, folder of the node, folder of the container."""


def needs_installer(pool: Pool) -> bool:
    """Whether neither GKE nor the operator installs the driver of the pool's nodes."""
    if pool.served_by_platform or pool.gpu.vendor != "nvidia":
        return False
    return driver_root(pool.image, pool.platform) == FACTS.driver_root


def driver_installers(pools: Sequence[Pool], images: Images) -> dict[str, dict[str, Any]]:
    """Name -> DaemonSet, for the pools that the fleet makes."""
    users: dict[tuple[str, bool], list[str]] = {}
    for pool in pools:
        if needs_installer(pool) and pool.ownership is not Ownership.EXISTING:
            arm = pool.machines[0].architecture == "arm64"
            options = pool.spec.gke or GkeOptions()
            latest = arm or options.driver_version == "latest"
            name = f"{NAME}-arm64" if arm else f"{NAME}-latest" if latest else NAME
            users.setdefault((name, latest), []).append(pool.name)
    return {
        name: daemon_set(f"gpufleet-{name}", sorted(names), _steps(name, latest, images))
        for (name, latest), names in sorted(users.items())
    }


def _steps(name: str, latest: bool, images: Images) -> dict[str, Any]:
    arm = name.endswith("-arm64")
    mounts = {"dev": "/dev", "root": "/root"} | {key: one[2] for key, one in _FOLDERS.items()}
    folders = {"dev": "/dev", "root": "/"} | {key: one[1] for key, one in _FOLDERS.items()}
    env = {"ROOT_MOUNT_DIR": "/root"}
    for variable, of_node, of_container in _FOLDERS.values():
        env |= {f"{variable}_HOST": of_node, f"{variable}_CONTAINER": of_container}
    command = ["bash", "-c", _ONCE_ON_ARM] if arm else _INSTALL.split()
    install = {
        **privileged("install", _PRELOADED_ARM if arm else _PRELOADED, mounts, cpu=True),
        "imagePullPolicy": "Never",
        "env": [{"name": key, "value": value} for key, value in env.items()],
        **({"command": command} if latest else {}),
    }
    volumes = host_folders(folders)
    return {"initContainers": [install], "containers": [pause(images)], "volumes": volumes}

"""What brings GPUDirect to nodes on GKE: NCCL's plugins, and devices for the daemon of a pod.

One DaemonSet for each of Google's: names, images, folders and steps are those of
GoogleCloudPlatform/container-engine-accelerators
`gpudirect-tcpx/nccl-tcpx-installer-autopilot.yaml` 4aeee0d,
`gpudirect-tcpxo/nccl-tcpxo-installer.yaml` e14ee8a, `gpudirect-rdma/nccl-rdma-installer.yaml`
2c776f7, `gpudirect-rdma/nccl-rdma-installer-a4x.yaml` 503e4b7 and
`nri_device_injector/nri-device-injector.yaml` d4919d3, read 2026-11-23. They choose nodes by the
pools of the fleet instead of by the GPU: not every machine with an H100 has GPUDirect.
"""

from collections.abc import Sequence
from typing import Any

from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.daemon_sets import daemon_set, host_folders, pause, privileged
from gpufleet.platforms.gke.gpudirect_releases import (
    RELEASES,
    default_version,
    gpudirect_kind,
    plugin_version,
)
from gpufleet.spec.images import Images
from gpufleet.spec.pool import Fabric

INSTALLER = "gpufleet-nccl-"
"""Start of the names of DaemonSets that bring a plugin of NCCL."""
_HOST_TOOLS = "docker.io/library/ubuntu:24.04"
"""Google's manifests have `ubuntu`, and for `sysctl` `alpine`, without a version."""
_INJECTOR = (
    "gcr.io/gke-release/nri-device-injector@sha256:"
    "6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970"
)
RDMA_INTERFACES = {"rdma": 8, "rdma-a4x": 4}

_ON_HOST = ["nsenter", "-at", "1", "--", "sh", "-c"]
_APERTURES = """\
iptables -C INPUT -p tcp -j ACCEPT 2>/dev/null || iptables -I INPUT -p tcp -j ACCEPT
modprobe import-helper || exit 1
for device in $(lspci -Dn | grep 1ae0:0084 | cut -d' ' -f1); do
  folder=/dev/aperture_devices/$device
  mkdir -p "$folder"
  umount -R "$folder" 2>/dev/null
  mount --bind "$(readlink -f "/sys/bus/pci/devices/$device")" "$folder" || exit 1
done
if [ -d /dev/aperture_devices ]; then
  chmod -R a+r /dev/aperture_devices
  chmod a+rw /dev/aperture_devices/*/resource*
fi
"""
_TCP = """\
set -e
chmod 755 /scripts/container_entry.sh
/scripts/container_entry.sh install --install-nccl
mkdir -p /usr/local/nvidia/lib64
cp -r /var/lib/{fabric}/lib64/. /usr/local/nvidia/lib64
"""
_KUBERNETES = "/usr/local/home/kubernetes/bin"
_GIB = f"""\
set -e
/scripts/container_entry.sh install --install-nccl
cp -r /var/lib/gib/lib64/. {_KUBERNETES}/nvidia/lib64
cp -r /var/lib/gib/. {_KUBERNETES}/gib
"""


def gpudirect_objects(pools: Sequence[Pool], images: Images) -> dict[str, dict[str, Any]]:
    """Name -> DaemonSet, for the pools of a fleet on GKE."""
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
        image = mirrored(RELEASES[kind][version].plugin, images)
        containers = _containers(kind, image, images)
        made[suffix] = daemon_set(f"{INSTALLER}{suffix}", sorted(names), containers)
    if injected:
        name = "device-injector"
        containers = _injector(mirrored(_INJECTOR, images))
        made[name] = daemon_set(f"gpufleet-{name}", sorted(injected), containers)
    return made


def _injector(image: str) -> dict[str, Any]:
    folders = {"dev": "/dev", "nri": "/var/run/nri"}
    return {
        "containers": [privileged("device-injector", image, folders, cpu=True)],
        "volumes": host_folders(folders),
    }


def _containers(kind: str, image: str, images: Images) -> dict[str, Any]:
    """Containers and volumes of one kind."""
    tools = mirrored(_HOST_TOOLS, images)
    if kind not in RDMA_INTERFACES:
        mounts = {"var-lib": "/var/lib", "libraries": "/usr/local"}
        install = privileged("install", image, mounts, cpu=True)
        apertures = {**privileged("apertures", tools, {}), "command": [*_ON_HOST, _APERTURES]}
        steps = [
            *([apertures] if kind == "tcpxo" else []),
            {**install, "command": ["/bin/sh", "-c"], "args": [_TCP.format(fabric=kind)]},
        ]
        volumes = {"var-lib": "/var/lib", "libraries": "/home/kubernetes/bin"}
    else:
        quiet = "".join(
            f"echo 0 > /proc/sys/net/ipv4/conf/gpu{index}rdma0/log_martians\n"
            for index in range(RDMA_INTERFACES[kind])
        )
        mounts = {"libraries": f"{_KUBERNETES}/nvidia/lib64", "gib": f"{_KUBERNETES}/gib"}
        install = privileged("install", image, mounts, cpu=True)
        steps = [
            {**privileged("quiet", tools, {}), "command": ["/bin/sh", "-c"], "args": [quiet]},
            {**install, "command": ["/bin/sh", "-c"], "args": [_GIB]},
        ]
        home = "/home/kubernetes/bin"
        volumes = {"libraries": f"{home}/nvidia/lib64", "gib": f"{home}/gib"}
    return {
        "initContainers": steps,
        "containers": [pause(images)],
        "volumes": host_folders(volumes),
    }

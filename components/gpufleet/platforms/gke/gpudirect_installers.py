"""What brings GPUDirect to nodes on GKE: NCCL's plugins, and devices for the daemon of a pod.

One DaemonSet for each of Google's: names, images, folders and steps are those of
GoogleCloudPlatform/container-engine-accelerators
`gpudirect-tcpx/nccl-tcpx-installer-autopilot.yaml` 4aeee0d,
`gpudirect-tcpxo/nccl-tcpxo-installer.yaml` e14ee8a, `gpudirect-rdma/nccl-rdma-installer.yaml`
2c776f7, `gpudirect-rdma/nccl-rdma-installer-a4x.yaml` 503e4b7 and
`nri_device_injector/nri-device-injector.yaml` d4919d3, read 2026-11-23. They choose nodes by the
pools of the fleet instead of by the GPU: not every machine with an H100 has GPUDirect.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.image_sources import mirrored
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.gpudirect_releases import (
    RELEASES,
    default_version,
    gpudirect_kind,
    plugin_version,
)
from gpufleet.spec.images import Images
from gpufleet.spec.pool import Fabric

NAMESPACE = "kube-system"
INSTALLER = "gpufleet-nccl-"
"""Start of the names of DaemonSets that bring a plugin of NCCL."""
_PAUSE = "gke.gcr.io/pause:3.8"
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
        made[suffix] = _daemon_set(f"{INSTALLER}{suffix}", sorted(names), containers)
    if injected:
        name = "device-injector"
        containers = _injector(mirrored(_INJECTOR, images))
        made[name] = _daemon_set(f"gpufleet-{name}", sorted(injected), containers)
    return made


def _daemon_set(name: str, pools: Sequence[str], containers: Mapping[str, Any]) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "gpufleet"}
    chosen = {"key": POOL_LABEL, "operator": "In", "values": list(pools)}
    term = {"matchExpressions": [chosen]}
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "priorityClassName": "system-node-critical",
            "affinity": {"nodeAffinity": wanted},
            "tolerations": [{"operator": "Exists"}],
            "hostNetwork": True,
            "hostPID": True,
            **containers,
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": template,
        },
    }


def chosen_pools(daemon_set: Mapping[str, Any]) -> list[str]:
    """Pools whose nodes a DaemonSet of `gpudirect_objects` runs on."""
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


def _injector(image: str) -> dict[str, Any]:
    folders = {"dev": "/dev", "nri": "/var/run/nri"}
    return {
        "containers": [_privileged("device-injector", image, folders, cpu=True)],
        "volumes": _host(folders),
    }


def _containers(kind: str, image: str, images: Images) -> dict[str, Any]:
    """Containers and volumes of one kind."""
    tools = mirrored(_HOST_TOOLS, images)
    if kind not in RDMA_INTERFACES:
        mounts = {"var-lib": "/var/lib", "libraries": "/usr/local"}
        install = _privileged("install", image, mounts, cpu=True)
        apertures = {**_privileged("apertures", tools, {}), "command": [*_ON_HOST, _APERTURES]}
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
        install = _privileged("install", image, mounts, cpu=True)
        steps = [
            {**_privileged("quiet", tools, {}), "command": ["/bin/sh", "-c"], "args": [quiet]},
            {**install, "command": ["/bin/sh", "-c"], "args": [_GIB]},
        ]
        home = "/home/kubernetes/bin"
        volumes = {"libraries": f"{home}/nvidia/lib64", "gib": f"{home}/gib"}
    pause = {"name": "pause", "image": mirrored(_PAUSE, images)}
    return {"initContainers": steps, "containers": [pause], "volumes": _host(volumes)}


def _privileged(
    name: str, image: str, mounts: Mapping[str, str], *, cpu: bool = False
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": name,
        "image": image,
        "securityContext": {"privileged": True},
    }
    if cpu:
        made["resources"] = {"requests": {"cpu": "150m"}}
    if mounts:
        made["volumeMounts"] = [{"name": n, "mountPath": path} for n, path in mounts.items()]
    return made


def _host(folders: Mapping[str, str]) -> list[dict[str, Any]]:
    """Folders of the node; that of the libraries may not be there before the driver is."""
    return [
        {
            "name": name,
            "hostPath": {
                "path": path,
                **({"type": "DirectoryOrCreate"} if path.endswith("lib64") else {}),
            },
        }
        for name, path in folders.items()
    ]

"""GPUDirect on GKE for pods: interfaces, libraries, and for TCPX and TCPXO the receive data path
manager in the pod of the job. Without them NCCL uses only the first interface.

Sources: GoogleCloudPlatform/container-engine-accelerators, `gpudirect-tcpx/nccl-test-latest.yaml`
(0e5609b), `gpudirect-tcpxo/nccl-test-latest.yaml` (ced6fa7), `gpudirect-rdma/nccl-test-a4.yaml`
(af94872), installers of the same folders and `nri_device_injector` (d4919d3). Read 2026-11-23.

Releases of GPUDirect for GKE: versions of NCCL's plugin and of the daemon, variables of pods.

GoogleCloudPlatform/container-engine-accelerators, release notes `gpudirect-tcpx/README.md` 98c85a6,
`gpudirect-tcpxo/README.md` 0a2b482 and `gpudirect-rdma/README.md` 4dc1fb6; versions of RDMA that
they lack are those of Google's manifests (`daemon_sets.yaml`). Read 2026-11-23. Notes of the daemon
from 2025-08-21 on drop two arguments, and the plugin then aborts a job in which
NCCL_NVLSTREE_MAX_CHUNKSIZE is not set.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.platform_rules import FabricRequest
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Fabric

_rules = rules_in(__file__)

REPOSITORY = "https://github.com/GoogleCloudPlatform/container-engine-accelerators"
_FILE = Path(__file__).with_name("gpudirect")
_INJECTOR = "nri_device_injector/nri-device-injector.yaml"
INSTALLERS = {
    Fabric.TCPX: ("gpudirect-tcpx/nccl-tcpx-installer.yaml", _INJECTOR),
    Fabric.TCPXO: ("gpudirect-tcpxo/nccl-tcpxo-installer.yaml", _INJECTOR),
    Fabric.RDMA: ("gpudirect-rdma/nccl-rdma-installer.yaml",),
}
"""Fabric -> manifests with NCCL's plugin for nodes, and devices for unprivileged pods."""
_A4X = ("gpudirect-rdma/nccl-rdma-installer-a4x.yaml",)


def installers_needed(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Manifests to apply once per cluster, if gpufleet does not install them."""
    for fabric, plain in INSTALLERS.items():
        users = [pool for pool in pools if pool.fabric is fabric and gpudirect_kind(pool)]
        files = [
            file
            for pool in users
            for file in (_A4X if str(gpudirect_kind(pool)).endswith("a4x") else plain)
        ]
        if not users:
            continue
        names = list(dict.fromkeys(files))
        known = {"fabric": fabric.value, "names": names, "repository": REPOSITORY}
        yield from _rules("installers", users[0].path, users=users, **known)


def gpudirect_request(pool: Pool) -> FabricRequest:
    """Requirements of a pod over several nodes besides its GPUs. Empty without a fabric, and if GKE
    creates the networks: pods claim those (`resource.k8s.io`)."""
    networks = gke_shape(pool).networks
    if not networks:
        return FabricRequest()
    names = ["default", *(network.name for network in networks)]
    interfaces = [
        {"interfaceName": f"eth{index}", "network": name} for index, name in enumerate(names)
    ]
    annotations = {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": json.dumps(interfaces),
    }
    if pool.fabric is Fabric.RDMA:
        return FabricRequest(annotations=annotations, **data_part(_FILE, "rdma"))
    kind = pool.fabric.value
    release = RELEASES[kind][plugin_version(pool, kind)]
    asked = data_part(_FILE, kind, image=release.daemon, arguments=release.daemon_arguments)
    asked["env"] += [{"name": name, "value": text} for name, text in release.env.items()]
    devices = [f"/dev/nvidia{index}" for index in range(pool.gpus_per_node)]
    devices += ["/dev/nvidiactl", "/dev/nvidia-uvm"]
    if pool.fabric is Fabric.TCPXO:
        devices.append("/dev/dmabuf_import_helper")
    listed = "".join(f"- path: {device}\n" for device in devices)
    # The annotation by which the injector finds the daemon's container names it.
    annotations[f"devices.gke.io/container.{kind}-daemon"] = listed
    return FabricRequest(annotations=annotations, **asked)


@dataclass(frozen=True, slots=True)
class GpuDirectRelease:
    """Images of one release of Google's."""

    plugin: str
    """Image that installs NCCL's plugin on a node."""
    daemon: str | None = None
    """Image of the daemon in the pod of a job."""
    daemon_arguments: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that the job must set."""


def _releases() -> Mapping[str, Mapping[str, GpuDirectRelease]]:
    found: dict[str, dict[str, GpuDirectRelease]] = {}
    for row in read_rows(Path(__file__).parent, "gpudirect_releases"):
        kind, version = row.pop("kind"), row.pop("version")
        found.setdefault(kind, {})[version] = GpuDirectRelease(**row)
    return found


RELEASES = _releases()
"""Kind of installer -> version of its plugin -> release. The first is the default, and does not
change: all pods of a job need one version, so an update of gpufleet must not install another."""


def gpudirect_kind(pool: Pool) -> str | None:
    """The installer for the nodes of a pool; None without GPUDirect, and for existing nodes."""
    return None if pool.ownership is Ownership.EXISTING else _kind(pool)


def _kind(pool: Pool) -> str | None:
    row = pool.machines[0].instance
    if pool.fabric is Fabric.NONE or row is None:
        return None
    return f"{pool.fabric.value}-a4x" if row.family == "a4x" else pool.fabric.value


def plugin_version(pool: Pool, kind: str) -> str:
    """Version of the plugin: the declared one if it is among the releases."""
    asked = None if pool.spec.gke is None else pool.spec.gke.gpu_direct_plugin
    return default_version(kind) if asked is None or asked not in RELEASES[kind] else asked


def default_version(kind: str) -> str:
    """Version of the plugin if none is declared."""
    return next(iter(RELEASES[kind]))


def validate_release(pool: Pool) -> Iterable[Finding]:
    """A declared version must be one whose daemon is known."""
    asked, kind = pool.spec.gke and pool.spec.gke.gpu_direct_plugin, _kind(pool)
    versions = list(RELEASES.get(kind or "", ()))
    known = {"kind": kind, "versions": versions, "shown": ", ".join(versions)}
    return _rules("release", pool.path, asked=asked, **known)

"""Releases of GPUDirect for GKE: which plugin of NCCL goes with which daemon, what pods set.

GoogleCloudPlatform/container-engine-accelerators, release notes `gpudirect-tcpx/README.md` 98c85a6,
`gpudirect-tcpxo/README.md` 0a2b482 and `gpudirect-rdma/README.md` 4dc1fb6; versions of RDMA that
they do not have are those of Google's manifests (`gpudirect_installers`). Read 2026-11-23.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Fabric

_GOOGLE = "us-docker.pkg.dev/gce-ai-infra"
_TCPX = f"{_GOOGLE}/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev", f"{_GOOGLE}/gpudirect-tcpx"
_TCPXO = f"{_GOOGLE}/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev", f"{_GOOGLE}/gpudirect-tcpxo"
_CLOSED_ARGUMENTS = "--num_hops=2 --num_nics=8 --uid= --alsologtostderr"
_OPEN_ARGUMENTS = "--num_hops=2 --num_nics=8"
"""Of the daemon from 2025-08-21 on, whose notes drop two arguments."""
_CHUNK = {"NCCL_NVLSTREE_MAX_CHUNKSIZE": "131072"}
"""From that release on the plugin aborts a job in which it is not set."""


@dataclass(frozen=True, slots=True)
class GpuDirectRelease:
    """Images that Google released together."""

    plugin: str
    """Image that brings NCCL's plugin to a node."""
    daemon: str | None = None
    """Image of the daemon next to a job."""
    daemon_arguments: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the job must set."""


def _tcpx(plugin: str, daemon: str) -> GpuDirectRelease:
    image, folder = _TCPX
    return GpuDirectRelease(f"{image}:{plugin}", f"{folder}/tcpgpudmarxd-dev:{daemon}")


def _tcpxo(plugin: str, daemon: str, *, opened: bool = True) -> GpuDirectRelease:
    image, folder = _TCPXO
    arguments, env = (_OPEN_ARGUMENTS, _CHUNK) if opened else (_CLOSED_ARGUMENTS, {})
    daemon = f"{folder}/tcpgpudmarxd-dev:{daemon}"
    return GpuDirectRelease(f"{image}:{plugin}", daemon, arguments, env)


def _gib(plugin: str, architecture: str = "") -> GpuDirectRelease:
    return GpuDirectRelease(f"{_GOOGLE}/gpudirect-gib/nccl-plugin-gib{architecture}:{plugin}")


RELEASES: Mapping[str, Mapping[str, GpuDirectRelease]] = {
    "tcpx": {"v3.1.9": _tcpx("v3.1.9", "v2.0.12"), "v3.1.12": _tcpx("v3.1.12", "v2.0.15")},
    "tcpxo": {
        "v1.0.9-1": _tcpxo("v1.0.9-1", "v1.0.15", opened=False),
        "v1.0.11": _tcpxo("v1.0.11", "v1.0.17", opened=False),
        "v1.0.12": _tcpxo("v1.0.12", "v1.0.18"),
        "v1.0.14": _tcpxo("v1.0.14", "v1.0.20"),
        "v1.0.15": _tcpxo("v1.0.15", "v1.0.21"),
    },
    "rdma": {"v1.0.6": _gib("v1.0.6"), "v1.1.0": _gib("v1.1.0")},
    "rdma-a4x": {"v1.0.4": _gib("v1.0.4", "-arm64")},
}
"""Kind of installer -> version of its plugin -> release. The first is the default, and stays it:
all pods of a job need one version, so no update of gpufleet may bring another to nodes."""


def gpudirect_kind(pool: Pool) -> str | None:
    """Which installer the nodes of a pool need; None without GPUDirect, and for nodes of others."""
    return None if pool.ownership is Ownership.EXISTING else _kind(pool)


def _kind(pool: Pool) -> str | None:
    row = pool.machines[0].instance
    if pool.fabric is Fabric.NONE or row is None:
        return None
    return f"{pool.fabric.value}-a4x" if row.family == "a4x" else pool.fabric.value


def plugin_version(pool: Pool, kind: str) -> str:
    """Version of the plugin: the declared one where it is among the releases."""
    asked = None if pool.spec.gke is None else pool.spec.gke.gpu_direct_plugin
    return default_version(kind) if asked is None or asked not in RELEASES[kind] else asked


def default_version(kind: str) -> str:
    """Version of the plugin where none is declared."""
    return next(iter(RELEASES[kind]))


def validate_release(pool: Pool) -> Iterable[Finding]:
    """A declared version must be one whose daemon is known."""
    asked = None if pool.spec.gke is None else pool.spec.gke.gpu_direct_plugin
    if asked is None:
        return
    place, kind = f"{pool.path}.gke.gpuDirectPlugin", _kind(pool)
    if kind is None:
        yield error(
            "gke-gpudirect-plugin-without-fabric",
            place,
            "nodes of a pool without `fabric` get no plugin of GPUDirect",
            "remove gpuDirectPlugin, or write `fabric`",
            found=asked,
        )
    elif asked not in RELEASES[kind]:
        known = ", ".join(RELEASES[kind])
        yield error(
            "gke-gpudirect-plugin-unknown",
            place,
            f"{asked} is not among the releases of Google's plugin for {kind} that gpufleet has: "
            f"{known}",
            f"write one of {known}",
            found=asked,
            limit=known,
        )

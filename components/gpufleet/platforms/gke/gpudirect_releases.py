"""Releases of GPUDirect for GKE: which plugin of NCCL goes with which daemon, what pods set.

GoogleCloudPlatform/container-engine-accelerators, release notes `gpudirect-tcpx/README.md` 98c85a6,
`gpudirect-tcpxo/README.md` 0a2b482 and `gpudirect-rdma/README.md` 4dc1fb6; versions of RDMA that
they do not have are those of Google's manifests (`daemon_sets.yaml`). Read 2026-11-23. Notes of
the daemon from 2025-08-21 on drop two arguments, and the plugin then aborts a job in which
NCCL_NVLSTREE_MAX_CHUNKSIZE is not set.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Fabric

_finding = findings_in(__file__)


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


def _releases() -> Mapping[str, Mapping[str, GpuDirectRelease]]:
    found: dict[str, dict[str, GpuDirectRelease]] = {}
    for row in read_rows(Path(__file__).parent, "gpudirect_releases"):
        kind, version = row.pop("kind"), row.pop("version")
        found.setdefault(kind, {})[version] = GpuDirectRelease(**row)
    return found


RELEASES = _releases()
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
        yield _finding("gke-gpudirect-plugin-without-fabric", place, found=asked)
    elif asked not in RELEASES[kind]:
        known = ", ".join(RELEASES[kind])
        yield _finding("gke-gpudirect-plugin-unknown", place, found=asked, kind=kind, limit=known)

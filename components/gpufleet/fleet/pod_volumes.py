"""Volumes of a pool in its pods: the parts that are equal on every platform.

Sources: kubernetes-sigs/aws-fsx-csi-driver and GoogleCloudPlatform/lustre-csi-driver, static
provisioning; Kubernetes documentation, `emptyDir`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.spec.storage import LustreVolume, PoolVolume


@dataclass(frozen=True, slots=True)
class PodVolume:
    """One volume."""

    declared: PoolVolume
    source: Mapping[str, Any]
    """Entry of the pod's `volumes`, without its name."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations that the pod needs for it."""
    objects: Sequence[Mapping[str, Any]] = ()
    """Objects that must exist before the pod: PersistentVolume and claim."""

    @property
    def volume(self) -> dict[str, Any]:
        """Entry of the pod's `volumes`."""
        return {"name": self.declared.name, **self.source}

    @property
    def mount(self) -> dict[str, Any]:
        """Entry of the container's `volumeMounts`."""
        read_only = {"readOnly": True} if self.declared.read_only else {}
        return {"name": self.declared.name, "mountPath": self.declared.mount, **read_only}


def scratch_volume(declared: PoolVolume) -> PodVolume:
    """Space on disks on which the node keeps the kubelet's directory."""
    assert declared.local_nvme is not None
    size = declared.local_nvme.size_gib
    return PodVolume(declared, {"emptyDir": {} if size is None else {"sizeLimit": f"{size}Gi"}})


def claimed_volume(
    pool: str,
    declared: PoolVolume,
    lustre: LustreVolume,
    csi: Mapping[str, Any],
    mount_options: Sequence[str] = (),
) -> PodVolume:
    """An existing file system, with a PersistentVolume and a claim that refer to each other.

    Args:
        pool: Name of the pool: its nodes have separate volumes.
        declared: The volume.
        lustre: The file system.
        csi: Driver, handle and attributes.
        mount_options: Options of the PersistentVolume.
    """
    name = f"gpufleet-{pool}-{declared.name}"
    size = {"storage": f"{lustre.size_gib}Gi"}
    options = {"mountOptions": list(mount_options)} if mount_options else {}
    spec = {
        "capacity": size,
        "volumeMode": "Filesystem",
        "accessModes": ["ReadWriteMany"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        **options,
        "claimRef": {"namespace": lustre.namespace, "name": name},
        "csi": dict(csi),
    }
    volume = manifest("v1", "PersistentVolume", name, spec=spec)
    claimed = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "volumeName": name,
        "resources": {"requests": size},
    }
    claim = manifest("v1", "PersistentVolumeClaim", name, lustre.namespace, spec=claimed)
    read_only = {"readOnly": True} if declared.read_only else {}
    source = {"persistentVolumeClaim": {"claimName": name, **read_only}}
    return PodVolume(declared, source, objects=(volume, claim))

"""Volumes on GKE: Managed Lustre and Cloud Storage FUSE through their CSI drivers, and local SSDs.

Sources: GoogleCloudPlatform/lustre-csi-driver and gcs-fuse-csi-driver, examples of static
provisioning and of ephemeral volumes; GKE documentation, `local-ssd` (ephemeral storage).
"""

import re
from collections.abc import Iterator

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.pod_volumes import PodVolume, claimed_volume, scratch_volume
from gpufleet.fleet.storage_rules import validate_storage
from gpufleet.platforms.gke.shape import LOCAL_SSD_BYTES, gke_shape, raw_ssds
from gpufleet.spec.storage import PoolVolume

_finding = findings_in(__file__)

LUSTRE_DRIVER = "lustre.csi.storage.gke.io"
BUCKET_DRIVER = "gcsfuse.csi.storage.gke.io"
KINDS = frozenset({"lustre", "bucket", "localNvme"})
ADDONS = {"lustre": "LustreCsiDriver", "bucket": "GcsFuseCsiDriver"}
"""Kind of volume -> add-on of the cluster that mounts it."""
_ID = re.compile(r"^[a-z][a-z0-9:.-]+/[a-z0-9-]+/[a-z][a-z0-9-]*$")
_INJECT = {"gke-gcsfuse/volumes": "true"}
"""Annotation by which GKE adds the container that mounts buckets."""


def pod_volumes(pool: Pool) -> list[PodVolume]:
    """The volumes that the pods of a pool mount."""
    return [_volume(pool.name, one) for one in pool.spec.storage]


def _volume(pool: str, one: PoolVolume) -> PodVolume:
    if one.lustre is not None:
        attributes = {"ip": one.lustre.address, "filesystem": one.lustre.file_system}
        csi = {
            "driver": LUSTRE_DRIVER,
            "volumeHandle": one.lustre.id,
            "volumeAttributes": attributes,
        }
        return claimed_volume(pool, one, one.lustre, csi)
    if one.bucket is None:
        return scratch_volume(one)
    bucket = {"bucketName": one.bucket.name}
    if one.bucket.mount_options:
        bucket["mountOptions"] = ",".join(one.bucket.mount_options)
    csi = {"driver": BUCKET_DRIVER, "readOnly": one.read_only, "volumeAttributes": bucket}
    return PodVolume(one, {"csi": csi}, annotations=_INJECT)


def validate_gke_storage(pool: Pool) -> Iterator[Finding]:
    """Errors in the volumes of a pool, and their requirements."""
    if not pool.spec.storage:
        return
    shape = gke_shape(pool)
    scratch = 0 if raw_ssds(shape.options) else shape.local_ssds * LOCAL_SSD_BYTES
    yield from validate_storage(pool, KINDS, scratch)
    for index, one in enumerate(pool.spec.storage):
        if one.lustre is not None and not _ID.match(one.lustre.id):
            yield _finding("storage-id", f"{pool.path}.storage[{index}]", found=one.lustre.id)
    wanted = {ADDONS[kind] for one in pool.spec.storage for kind in one.kinds if kind in ADDONS}
    if wanted:
        names = ",".join(f"{name}=ENABLED" for name in sorted(wanted))
        yield _finding(
            "storage-driver-needed", pool.path, pool=pool.name, addons=sorted(wanted), names=names
        )

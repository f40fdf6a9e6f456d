"""Volumes on EKS: FSx for Lustre through its CSI driver, and NVMe disks of the machine.

Sources: kubernetes-sigs/aws-fsx-csi-driver `examples/kubernetes/static_provisioning`; awslabs/
amazon-eks-ami, nodeadm `localStorage.strategy: RAID0`; EKS user guide, fsx-csi.
"""

import re
from collections.abc import Iterator

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.pod_volumes import PodVolume, claimed_volume, scratch_volume
from gpufleet.fleet.storage_rules import validate_storage
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.user_data import image_family
from gpufleet.spec.platforms.eks import LocalStorage
from gpufleet.spec.pool import Provisioner

_finding = findings_in(__file__)

DRIVER = "fsx.csi.aws.com"
KINDS = frozenset({"lustre", "localNvme"})
_ID = re.compile(r"^fs-[0-9a-f]{8,40}$")
"""FSx service model, FileSystemId: 11 to 21 characters."""


def pod_volumes(pool: Pool) -> list[PodVolume]:
    """The volumes that the pods of a pool mount."""
    return [
        scratch_volume(one)
        if one.lustre is None
        else claimed_volume(
            pool.name,
            one,
            one.lustre,
            {
                "driver": DRIVER,
                "volumeHandle": one.lustre.id,
                "volumeAttributes": {
                    "dnsname": one.lustre.address,
                    "mountname": one.lustre.file_system,
                },
            },
            ("flock",),
        )
        for one in pool.spec.storage
    ]


def validate_eks_storage(pool: Pool) -> Iterator[Finding]:
    """Errors in the volumes of a pool, and their requirements."""
    if not pool.spec.storage:
        return
    yield from validate_storage(pool, KINDS, _scratch_bytes(pool))
    lustre = [(i, one.lustre) for i, one in enumerate(pool.spec.storage) if one.lustre is not None]
    for index, one in lustre:
        if not _ID.match(one.id):
            yield _finding("storage-id", f"{pool.path}.storage[{index}]", found=one.id)
    if lustre:
        yield _finding("storage-driver-needed", pool.path, pool=pool.name, driver=DRIVER)


def _scratch_bytes(pool: Pool) -> int:
    """Size of the disks on which nodes keep the kubelet's directory. For images other than AL2023
    only Karpenter sets this up."""
    shape, family = eks_shape(pool), image_family(pool)
    local = min(machine.local_nvme_bytes or 0 for machine in pool.machines)
    if pool.provisioner is Provisioner.AUTO_MODE:
        return local if pool.spec.disk.size_gib * 1024**3 < local else 0
    by_image = family == "al2023" or (
        family in {"al2", "bottlerocket"} and pool.provisioner is Provisioner.KARPENTER
    )
    if not (shape.nvme and by_image and shape.options.local_storage is LocalStorage.RAID0):
        return 0
    return local

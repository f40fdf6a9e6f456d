"""Volumes that no pod could mount, on any platform."""

from collections import Counter
from collections.abc import Iterable, Iterator

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool

GIB = 1 << 30
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - mounted for NCCL


def validate_storage(
    pool: Pool, offered: frozenset[str], scratch_bytes: int | None
) -> Iterator[Finding]:
    """What is wrong with the volumes of a pool.

    Args:
        pool: The pool.
        offered: Kinds of volumes that its platform has.
        scratch_bytes: Least size of the NVMe disks on which its nodes keep the kubelet's folder;
            0 where they keep it elsewhere, None where the size is not known.
    """
    path = f"{pool.path}.storage"
    yield from _repeated(pool, path)
    for index, volume in enumerate(pool.spec.storage):
        place = f"{path}[{index}]"
        (kind,) = volume.kinds
        if kind not in offered:
            can = ", ".join(sorted(offered)) or "none"
            yield error(
                "storage-not-on-platform",
                f"{place}.{kind}",
                f"volumes of kind {kind} are not offered on {pool.platform.name}; it has {can}",
                f"remove {volume.name}, or write another kind",
                found=kind,
            )
        elif volume.local_nvme is not None:
            yield from _scratch(volume.name, volume.local_nvme.size_gib, scratch_bytes, place)


def _repeated(pool: Pool, path: str) -> Iterable[Finding]:
    volumes = pool.spec.storage
    for key, values in (
        ("name", [one.name for one in volumes]),
        ("mount", [one.mount for one in volumes] + [SHARED_MEMORY]),
    ):
        for value, count in Counter(values).items():
            if count > 1:
                yield error(
                    "storage-repeated",
                    path,
                    f"{value} is the {key} of {count} volumes of a pod",
                    f"give each a {key} of its own",
                    found=value,
                )


def _scratch(
    name: str, size_gib: int | None, scratch_bytes: int | None, place: str
) -> Iterator[Finding]:
    if scratch_bytes == 0:
        yield error(
            "storage-no-local-nvme",
            f"{place}.localNvme",
            f"nodes keep the folders of pods on the root disk: {name} would fill it",
            "choose a machine with NVMe disks, and let nodes use them (`eks.localStorage: raid0`, "
            "`gke.localSsdUse: ephemeral`)",
        )
    elif size_gib is not None and scratch_bytes is not None and size_gib * GIB > scratch_bytes:
        yield error(
            "storage-larger-than-disks",
            f"{place}.localNvme.sizeGib",
            f"{name} may take {size_gib} GiB, and the NVMe disks of a node have "
            f"{scratch_bytes // GIB}",
            f"write at most {scratch_bytes // GIB}",
            found=size_gib,
            limit=scratch_bytes // GIB,
        )

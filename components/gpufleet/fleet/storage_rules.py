"""Volumes that pods cannot mount, on any platform."""

from collections import Counter
from collections.abc import Iterable, Iterator

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool

_finding = findings_in(__file__)

GIB = 1 << 30
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - mounted for NCCL


def validate_storage(
    pool: Pool, offered: frozenset[str], scratch_bytes: int | None
) -> Iterator[Finding]:
    """Errors in the volumes of a pool.

    Args:
        pool: The pool.
        offered: Kinds of volumes of its platform.
        scratch_bytes: Minimum size of the NVMe disks on which its nodes keep the kubelet's
            directory; 0 if they keep it elsewhere, None if the size is not known.
    """
    path = f"{pool.path}.storage"
    yield from _repeated(pool, path)
    for index, volume in enumerate(pool.spec.storage):
        place = f"{path}[{index}]"
        (kind,) = volume.kinds
        if kind not in offered:
            can = ", ".join(sorted(offered)) or "none"
            yield _finding(
                "storage-not-on-platform",
                f"{place}.{kind}",
                found=kind,
                platform=pool.platform.name,
                can=can,
                volume=volume.name,
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
                yield _finding("storage-repeated", path, found=value, key=key, count=count)


def _scratch(
    name: str, size_gib: int | None, scratch_bytes: int | None, place: str
) -> Iterator[Finding]:
    if scratch_bytes == 0:
        yield _finding("storage-no-local-nvme", place, name=name)
    elif size_gib is not None and scratch_bytes is not None and size_gib * GIB > scratch_bytes:
        yield _finding(
            "storage-larger-than-disks",
            place,
            name=name,
            found=size_gib,
            limit=scratch_bytes // GIB,
        )

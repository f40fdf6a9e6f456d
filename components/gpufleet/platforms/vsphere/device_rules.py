"""What vSphere refuses of the disks, adapters and settings of a pool's machines."""

from collections.abc import Iterable

from gpufleet.findings import Finding, error, warning
from gpufleet.spec.platforms.vsphere import VsphereOptions, owned_keys
from gpufleet.spec.platforms.vsphere_devices import named_twice


def validate_devices(options: VsphereOptions, place: str) -> Iterable[Finding]:
    """Findings on the devices of one pool's machines.

    Args:
        options: What only vSphere needs to know of the pool.
        place: Path of its section.
    """
    if options.datastore is not None and options.datastore_cluster is not None:
        yield error(
            "vsphere-datastore-and-cluster",
            f"{place}.datastoreCluster",
            f"datastore is {options.datastore} and datastoreCluster {options.datastore_cluster}",
            "give one of them",
        )
    twice = named_twice(options.extra_disks)
    if twice:
        yield error(
            "vsphere-disks-named-twice",
            f"{place}.extraDisks",
            f"{', '.join(twice)} is named more than once",
            "give each disk a name of its own",
        )
    for number, disk in enumerate(options.extra_disks):
        if disk.keep and options.delete_policy.value == "hard":
            yield warning(
                "vsphere-kept-disk-stopped-hard",
                f"{place}.extraDisks[{number}].keep",
                f"deletePolicy is hard: the machine is powered off while {disk.name} is mounted, "
                "and what was not written yet is lost",
                "write `deletePolicy: trySoft`",
            )
    taken = owned_keys(options.extra_config)
    if taken:
        yield error(
            "vsphere-extra-config-taken",
            f"{place}.extraConfig",
            f"{', '.join(taken)} is written by gpufleet itself",
            "leave it out; `mmioGib` sets the MMIO window",
        )
    both = sorted(set(options.hosts) & set(options.deny_hosts))
    if both:
        yield error(
            "vsphere-host-allowed-and-denied",
            f"{place}.denyHosts",
            f"{', '.join(both)} is in hosts, too",
            "write each host in one of them",
        )

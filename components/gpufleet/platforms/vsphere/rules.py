"""Findings about pools on vSphere: attachment of the GPUs and its required settings, disks,
adapters and static addresses."""

from collections.abc import Iterable, Sequence

from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.vsphere.machine_arguments import (
    board_ids,
    machines_of,
    options_of,
    static_addresses,
)
from gpufleet.spec.base import Ownership
from gpufleet.spec.platforms.vsphere import (
    DYNAMIC_HARDWARE,
    NUMA_HARDWARE,
    Attachment,
    VsphereOptions,
    owned_keys,
)
from gpufleet.spec.platforms.vsphere_devices import named_twice

_finding, _rules = findings_in(__file__), rules_in(__file__)


def validate_vsphere(pools: Iterable[Pool]) -> list[Finding]:
    """Findings on the `vsphere` section of every pool."""
    listed = [pool for pool in pools if pool.ownership is not Ownership.EXISTING]
    found = [finding for pool in listed for finding in _validate(pool, options_of(pool))]
    return [*found, *_static_addresses(listed)]


def _validate(compiled: Pool, options: VsphereOptions) -> Iterable[Finding]:
    fixed, of_pool = options.attachment is Attachment.PASSTHROUGH, len(options.pci_addresses)
    place = f"{compiled.path}.vsphere"
    listed = [
        {"place": f"{place}.machines[{number}].pciAddresses", "count": len(one.pci_addresses)}
        for number, one in enumerate(options.machines)
        if one.pci_addresses
    ]
    each_its_own = options.machines and len(listed) == len(options.machines)
    if of_pool or (fixed and not each_its_own):
        listed.insert(0, {"place": f"{place}.pciAddresses", "count": of_pool})
    sizes = {"socket": options.cores_per_socket, "numa": options.cores_per_numa_node}
    of_nics = () if options.nics is None else options.nics.pci_addresses
    each = 1 if options.separate_hosts == "required" else options.max_per_host
    hosts = set(options.hosts) - set(options.deny_hosts)
    nodes, own = compiled.spec.nodes.max, any(one.hosts for one in options.machines)
    crowded = each is not None and bool(options.hosts) and not own and len(hosts) * each < nodes
    yield from _rules(
        "pool",
        compiled.path,
        pool=compiled,
        options=options,
        numa=NUMA_HARDWARE,
        dynamic=DYNAMIC_HARDWARE,
        listed=listed,
        # The largest divisor of `cpus` that is not above the declared size.
        uneven={
            name: max(n for n in range(1, min(size, options.cpus) + 1) if options.cpus % n == 0)
            for name, size in sizes.items()
            if size is not None and options.cpus % size
        },
        twice={
            "machines": named_twice(one.name for one in options.machines),
            "tags": named_twice(f"{tag.category}/{tag.name}" for tag in options.tags),
            "disks": named_twice(disk.name for disk in options.extra_disks),
        },
        known_ids=board_ids(compiled.gpu, options.board),
        boards=list(compiled.gpu.pci_boards.values()),
        gpus_and_nics=sorted(_lowered(of_nics) & _lowered(options.pci_addresses)),
        taken=owned_keys(options.extra_config),
        both=sorted(set(options.hosts) & set(options.deny_hosts)),
        crowded=crowded,
        hosts=len(hosts),
        each=each,
        room=len(hosts) * (each or 0),
        needed=-(-nodes // (each or 1)),
    )


def _lowered(addresses: Iterable[str]) -> set[str]:
    return {address.lower() for address in addresses}


def _static_addresses(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Each machine has an address for each network with addresses, and no two have the same."""
    owners: dict[tuple[str, str], str] = {}
    for pool in pools:
        options = options_of(pool)
        if not any(network.addresses for network in options.networks):
            continue
        path = f"{pool.path}.vsphere"
        addressed = [network.network for network in options.networks if network.addresses]
        for machine in machines_of("", pool):
            found = static_addresses(machine, options)
            if options.machines and len(machine.addresses) != len(addressed):
                place = f"{path}.machines[{machine.position}]"
                yield from _rules("addresses", place, machine=machine, addressed=addressed)
            elif len(found) < len(addressed):
                yield _finding("vsphere-addresses-count", path, machine=machine.key)
            for row in found:
                network: str = options.networks[int(row["adapter"])].network
                key = (network, str(row["address"]).split("/")[0])
                name = f"machine {machine.key} of pool {pool.name}"
                if (other := owners.setdefault(key, name)) != name:
                    place = f"{path}.networks[{row['adapter']}]"
                    yield from _rules("address", place, key=list(key), other=other, name=name)

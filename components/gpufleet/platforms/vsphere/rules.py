"""Findings about pools on vSphere: attachment of the GPUs and its required settings, disks,
adapters and static addresses."""

from collections.abc import Iterable, Sequence

from gpufleet.catalogue.gpu import Gpu
from gpufleet.findings import Finding, error, findings_in, rules_in
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
    pool, path, gpus_per_node = compiled.spec, compiled.path, compiled.gpus_per_node
    place = f"{path}.vsphere"
    needed = {"numa": NUMA_HARDWARE, "dynamic": DYNAMIC_HARDWARE}
    yield from _rules("pool", path, pool=compiled, options=options, **needed)
    yield from _addresses(options, gpus_per_node, place)
    yield from _twice(options, place)
    yield from _dynamic(options, compiled.gpu, place)
    yield from _hardware(options, place)
    yield from _devices(options, place)
    yield from _rooms(options, pool.nodes.max, place)
    of_nics = () if options.nics is None else options.nics.pci_addresses
    both = {a.lower() for a in of_nics} & {a.lower() for a in options.pci_addresses}
    if both:
        yield _finding("vsphere-pci-address-twice", place, found=sorted(both))


def _addresses(options: VsphereOptions, gpus_per_node: int, place: str) -> Iterable[Finding]:
    """PCI addresses of the pool, and of the machines that have their own."""
    fixed, of_pool = options.attachment is Attachment.PASSTHROUGH, len(options.pci_addresses)
    rows = [
        (f"{place}.machines[{number}].pciAddresses", len(machine.pci_addresses))
        for number, machine in enumerate(options.machines)
        if machine.pci_addresses
    ]
    each_its_own = options.machines and len(rows) == len(options.machines)
    if of_pool or (fixed and not each_its_own):
        rows.insert(0, (f"{place}.pciAddresses", of_pool))
    for where, found in rows:
        if not fixed:
            yield _finding(
                "vsphere-pci-addresses-unused", where, attachment=options.attachment.value
            )
        elif found != gpus_per_node:
            yield _finding("vsphere-pci-addresses-count", where, found=found, limit=gpus_per_node)


def _hardware(options: VsphereOptions, place: str) -> Iterable[Finding]:
    for cores, name, code, parts in (
        (options.cores_per_socket, "coresPerSocket", "vsphere-cores-per-socket", "sockets"),
        (options.cores_per_numa_node, "coresPerNumaNode", "vsphere-cores-per-numa-node", "nodes"),
    ):
        if cores is not None and options.cpus % cores:
            divides = [n for n in range(1, min(cores, options.cpus) + 1) if options.cpus % n == 0]
            yield error(
                code,
                f"{place}.{name}",
                f"{options.cpus} cpus cannot be divided into {parts} of {cores}",
                f"write {max(divides)}, or remove it",
                found=cores,
            )


def _twice(options: VsphereOptions, place: str) -> Iterable[Finding]:
    """Entries that a list may contain only once."""
    for code, field, names, fix in (
        (
            "vsphere-machines-named-twice",
            "machines",
            [machine.name for machine in options.machines],
            "give each machine a name of its own",
        ),
        (
            "vsphere-tags-twice",
            "tags",
            [f"{tag.category}/{tag.name}" for tag in options.tags],
            "write each tag once",
        ),
        (
            "vsphere-disks-named-twice",
            "extraDisks",
            [disk.name for disk in options.extra_disks],
            "give each disk a name of its own",
        ),
    ):
        if twice := named_twice(names):
            text = f"{', '.join(twice)} is listed more than once"
            yield error(code, f"{place}.{field}", text, fix)


def _dynamic(options: VsphereOptions, gpu: Gpu, place: str) -> Iterable[Finding]:
    if options.attachment is Attachment.DYNAMIC_DIRECT_PATH:
        if not options.device_ids and not board_ids(gpu, options.board):
            boards = ", ".join(gpu.pci_boards.values())
            of = f"the board {options.board} of {gpu.key}" if boards else gpu.key
            yield error(
                "vsphere-device-ids-unknown",
                f"{place}.deviceIds",
                f"the catalogue has no PCI device id of {of}"
                + (f"; it has {boards}" if boards else ""),
                "write it as the host shows it, four hexadecimal digits",
                gpu=gpu.key,
            )
        return
    for name, value in (
        ("deviceIds", options.device_ids),
        ("hardwareLabel", options.hardware_label),
        ("board", options.board),
    ):
        if value:
            yield _finding(
                "vsphere-dynamic-setting-unused",
                f"{place}.{name}",
                attachment=options.attachment.value,
            )


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
                yield _finding(
                    "vsphere-machine-addresses-count",
                    f"{path}.machines[{machine.position}]",
                    found=len(machine.addresses),
                    limit=len(addressed),
                    addressed=addressed,
                )
            elif len(found) < len(addressed):
                yield _finding("vsphere-addresses-count", path, machine=machine.key)
            for row in found:
                network: str = options.networks[int(row["adapter"])].network
                key = (network, str(row["address"]).split("/")[0])
                name = f"machine {machine.key} of pool {pool.name}"
                other = owners.setdefault(key, name)
                if other != name:
                    yield _finding(
                        "vsphere-address-twice",
                        f"{path}.networks[{row['adapter']}]",
                        key=key[1],
                        scope=key[0],
                        other=other,
                        name=name,
                    )


def _devices(options: VsphereOptions, place: str) -> Iterable[Finding]:
    """Findings on the devices of one pool's machines."""
    taken = owned_keys(options.extra_config)
    if taken:
        yield _finding("vsphere-extra-config-taken", place, taken=taken)
    both = sorted(set(options.hosts) & set(options.deny_hosts))
    if both:
        yield _finding("vsphere-host-allowed-and-denied", place, both=both)


def _rooms(options: VsphereOptions, nodes: int, place: str) -> Iterable[Finding]:
    """Named hosts that cannot hold all machines of the pool."""
    each = 1 if options.separate_hosts == "required" else options.max_per_host
    hosts = set(options.hosts) - set(options.deny_hosts)
    own = any(one.hosts for one in options.machines)
    if each is None or not options.hosts or own or len(hosts) * each >= nodes:
        return
    yield _finding(
        "vsphere-hosts-too-few",
        place,
        hosts=len(hosts),
        each=each,
        found=nodes,
        limit=len(hosts) * each,
        needed=-(-nodes // each),
    )

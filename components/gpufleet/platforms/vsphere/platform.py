"""Computations of vSphere about pools and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.input_differences import InputDifference
from gpufleet.fleet.kubelet import kubelet_arguments
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet, Machine, Pool
from gpufleet.fleet.platform_rules import DeclaredMachine, PlatformRules
from gpufleet.fleet.rollout import Rollout
from gpufleet.platforms.vsphere.machine_arguments import (
    board_ids,
    machines_of,
    node_labels,
    options_of,
    placed_machines,
    static_addresses,
)
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.vsphere import (
    DYNAMIC_HARDWARE,
    NUMA_HARDWARE,
    Attachment,
    VsphereOptions,
    VsphereUpdatePolicy,
    owned_keys,
)
from gpufleet.spec.platforms.vsphere_devices import named_twice
from gpufleet.spec.pool import GpuPool
from gpufleet_vcenter.properties import MachineChangeKind, changes, refused, replaces

_finding, _rules = findings_in(__file__), rules_in(__file__)

_CLASSES = {
    MachineChangeKind.REPLACE: LeafClass.REPLACEMENT,
    MachineChangeKind.POWERED_OFF: LeafClass.RESTART,
    MachineChangeKind.IN_PLACE: LeafClass.LIVE,
    MachineChangeKind.SETTING: LeafClass.LIVE,
    MachineChangeKind.REFUSED: LeafClass.REFUSED,
}


class VsphereRules(PlatformRules):
    """vSphere: machines of a declared size, on hosts instead of zones."""

    node_kinds = frozenset({"machine"})

    def own_machine(self, pool: GpuPool, path: str) -> DeclaredMachine | Finding:
        if pool.vsphere is None and pool.ownership is Ownership.EXISTING:
            return DeclaredMachine()  # the size of existing machines is not known
        if pool.vsphere is None:
            return _finding("vsphere-options-missing", path)
        return DeclaredMachine(pool.vsphere.cpus, pool.vsphere.memory_gib)

    def validate_pool(
        self, pool: GpuPool, path: str, machines: Sequence[Machine]
    ) -> Iterable[Finding]:
        if pool.zones:
            yield _finding("zones-not-on-platform", path, found=pool.zones)

    def validate_pools(self, spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
        return validate_vsphere(pools)

    def needed_reservations(self, pool: Pool) -> Sequence[str]:
        """kubeadm, RKE2 and k3s reserve nothing."""
        return ("reservedCpus", "reservedMemoryMib")

    def registered(self, fleet: Fleet, pool: Pool) -> Mapping[str, Mapping[str, Any]]:
        """`machine/<key>` -> inputs of the machine. Labels and taints are first-boot data, which a
        guest reads once."""
        prefix = fleet.spec.resource_prefix
        placed = placed_machines(prefix, pool)
        return {
            f"machine/{key}": {**inputs, "bootSha256": str(_boot(pool, position))}
            for position, (key, inputs) in enumerate(placed.items())
        }

    def input_differences(
        self, kind: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterable[InputDifference]:
        """Every difference that the provider compares, classed by its own table of changes."""
        policy = str(new.get("updatePolicy", VsphereUpdatePolicy.REFUSE.value))
        found = changes(old, new)
        word = "`vsphere.updatePolicy:"  # the form in a pool
        reasons = {
            path: reason.replace("`updatePolicy:", word) for path, reason in refused(found, policy)
        }
        replaced = set(replaces(found, policy))
        for one in found:
            leaf_class = _CLASSES[one.kind]
            if one.path in replaced:  # with the setting that the refusal names
                leaf_class = LeafClass.REPLACEMENT
            elif one.path in reasons:
                leaf_class = LeafClass.REFUSED
            yield InputDifference(one.path, one.old, one.new, leaf_class, reasons.get(one.path, ""))

    def rollout(self, pool: Pool, *, replaced: bool) -> Rollout:
        """The first machine alone, then `rolloutWidth` lanes."""
        del replaced
        if pool.spec.vsphere is None:
            return Rollout("the engine", None)
        return Rollout("pulumi up", options_of(pool).rollout_width, 0, "the first machine alone")


def _boot(pool: Pool, position: int) -> tuple[object, ...]:
    """The first-boot data of a node, without the cluster's address."""
    taints, arguments = sorted(str(taint) for taint in pool.taints), kubelet_arguments(pool)
    return (node_labels(pool, position), taints, *([arguments] if arguments else []))


# Findings about pools: attachment of GPUs and its required settings, disks, adapters, addresses.


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


RULES = VsphereRules()

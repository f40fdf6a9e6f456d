"""What is wrong with the static addresses of a pool's machines, and of all pools together."""

from collections.abc import Iterable, Sequence

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.vsphere.machine_arguments import machines_of, static_addresses


def validate_addresses(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Each machine has an address for each network that has some, and no two have the same."""
    owners: dict[tuple[str, str], str] = {}
    for pool in pools:
        options = pool.spec.vsphere
        if options is None or not any(network.addresses for network in options.networks):
            continue
        path = f"{pool.path}.vsphere"
        addressed = [network.network for network in options.networks if network.addresses]
        for machine in machines_of("", pool):
            found = static_addresses(machine, options)
            if options.machines and len(machine.addresses) != len(addressed):
                yield error(
                    "vsphere-machine-addresses-count",
                    f"{path}.machines[{machine.position}].addresses",
                    f"{len(machine.addresses)} addresses, and {len(addressed)} networks have "
                    f"addresses: {', '.join(addressed)}",
                    "write one for each, in the order of networks",
                    found=len(machine.addresses),
                    limit=len(addressed),
                )
            elif len(found) < len(addressed):
                yield error(
                    "vsphere-addresses-count",
                    f"{path}.networks",
                    f"machine {machine.key} has no address: it has the address with its number, "
                    "counted from 0, and the ranges end before that",
                    "extend the ranges",
                )
            for row in found:
                network: str = options.networks[int(row["adapter"])].network
                key = (network, str(row["address"]).split("/")[0])
                name = f"machine {machine.key} of pool {pool.name}"
                other = owners.setdefault(key, name)
                if other != name:
                    yield error(
                        "vsphere-address-twice",
                        f"{path}.networks[{row['adapter']}].addresses",
                        f"{key[1]} on {key[0]} is an address of {other} and of {name}",
                        "give each machine an address of its own",
                    )

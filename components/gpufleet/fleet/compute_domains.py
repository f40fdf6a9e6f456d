"""Pools that declare a ComputeDomain: whether it is made anywhere, and whether it joins anything.

The driver serves ComputeDomains on any machine; only those of one NVLink domain get memory of each
other by it (NVIDIA/cloud-native-docs pull request 162; kubernetes-sigs/dra-driver-nvidia-gpu
v0.4.1).
"""

from collections.abc import Iterable, Sequence

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool

_DOMAIN = "domain"
"""In the interconnect of a machine type: its NVLink reaches other machines."""


def validate_compute_domains(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Findings about each pool with `computeDomain`. Machines of no catalogue row are not known,
    and nothing is said of their NVLink."""
    for pool in pools:
        made = pool.partition.dra
        if made is None or not made.compute_domain:
            continue
        path = f"{pool.path}.sharing.dra"
        if not made.namespaces:
            yield error(
                "dra-compute-domain-nowhere",
                f"{path}.computeDomain",
                "a ComputeDomain is made in `namespaces`, and none is written",
                "write `namespaces`, or remove `computeDomain`",
            )
        rows = [machine.instance for machine in pool.machines if machine.instance is not None]
        links = {row.name: row.accelerator.interconnect or "PCIe" for row in rows}
        if links and not any(_DOMAIN in link for link in links.values()):
            name, link = next(iter(links.items()))
            yield warning(
                "dra-compute-domain-alone",
                f"{path}.computeDomain",
                f"no machine of {pool.name} shares NVLink with another one ({name}: {link}): a "
                "channel joins nothing",
                "remove `computeDomain`, or choose machines of one NVLink domain, such as GB200",
                machines=list(links),
            )

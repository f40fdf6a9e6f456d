"""Claims that need NVLink: whether the machines of the pool have it, and how far it reaches.

The driver serves ComputeDomains on any machine; only those of one NVLink domain get memory of each
other by it (NVIDIA/cloud-native-docs pull request 162; kubernetes-sigs/dra-driver-nvidia-gpu
v0.4.1). No attribute of a GPU names its NVLink, so in one machine each GPU has to reach each other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.spec.device_needs import NvlinkReach

_NVLINK = "NVLink"
_DOMAIN = "domain"
"""In the interconnect of a machine type: its NVLink reaches other machines."""
_MESH = "NVLink 2.0"
"""Interconnect of machines whose NVLink joins some pairs of GPUs only."""


def validate_compute_domains(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Findings about each pool with `computeDomain` or claims with `nvlink`. Machines of no
    catalogue row are not known: a claim over one machine gets a warning, the rest no finding."""
    for pool in pools:
        made, declared = pool.partition.dra, pool.spec.sharing.dra
        if made is None:
            continue
        path = f"{pool.path}.sharing.dra"
        if made.channel_for_all:
            yield from _validate_domain(pool, f"{path}.computeDomain")
        for index, need in enumerate(() if declared is None else declared.claims):
            place = f"{path}.claims[{index}].nvlink"
            if need.nvlink is NvlinkReach.DOMAIN:
                yield from _validate_reach(pool, place)
            elif need.nvlink is NvlinkReach.MACHINE:
                yield from _validate_machine(pool, place)


def _links(pool: Pool) -> Mapping[str, str]:
    """Machine type -> its interconnect, of types in the catalogue."""
    rows = [machine.instance for machine in pool.machines if machine.instance is not None]
    return {row.name: row.accelerator.interconnect or "PCIe" for row in rows}


def _validate_domain(pool: Pool, path: str) -> Iterator[Finding]:
    made, links = pool.partition.dra, _links(pool)
    if made is not None and not made.namespaces:
        yield error(
            "dra-compute-domain-nowhere",
            path,
            "a ComputeDomain is made in `namespaces`, and none is written",
            "write `namespaces`, or remove `computeDomain`",
        )
    if links and not any(_DOMAIN in link for link in links.values()):
        name, link = next(iter(links.items()))
        yield warning(
            "dra-compute-domain-alone",
            path,
            f"no machine of {pool.name} shares NVLink with another one ({name}: {link}): a "
            "channel joins nothing",
            "remove `computeDomain`, or choose machines of one NVLink domain, such as GB200",
            machines=list(links),
        )


def _validate_reach(pool: Pool, path: str) -> Iterator[Finding]:
    for name, link in _links(pool).items():
        if _DOMAIN not in link:
            yield error(
                "dra-claim-unmet",
                path,
                f"the claim needs an NVLink domain, and {name} shares NVLink with no other "
                f"machine ({link})",
                "remove `nvlink`, or choose machines of one NVLink domain, such as GB200",
                value="domain",
                limit=link,
                machine=name,
            )


def _validate_machine(pool: Pool, path: str) -> Iterator[Finding]:
    links = _links(pool)
    if not links:
        yield warning(
            "dra-claim-not-known",
            path,
            f"whether NVLink joins the GPUs of {pool.name} is not in the catalogue, and no "
            "attribute of a GPU names it",
            "look at `nvidia-smi topo -m` on a node: each pair needs NV",
        )
    for name, link in links.items():
        if not link.startswith(_NVLINK) or link == _MESH:
            yield error(
                "dra-claim-unmet",
                path,
                f"the GPUs of {name} are joined by {link}, and the claim needs NVLink between all",
                "remove `nvlink`, or choose machines with NVLink between all GPUs",
                value="machine",
                limit=link,
                machine=name,
            )

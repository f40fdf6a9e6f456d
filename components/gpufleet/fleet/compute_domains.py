"""Claims that need NVLink: whether the pool's machines have it, and its reach.

The driver serves ComputeDomains on any machine; only machines of one NVLink domain can access each
other's memory with them (NVIDIA/cloud-native-docs pull request 162;
kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1). GPUs have no attribute for NVLink, so within one
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.device_needs import NvlinkReach

_finding = findings_in(__file__)

_NVLINK = "NVLink"
_DOMAIN = "domain"
"""In the interconnect of a machine type: its NVLink connects several machines."""
_MESH = "NVLink 2.0"
"""Interconnect of machines whose NVLink connects only some pairs of GPUs."""


def validate_compute_domains(pools: Sequence[Pool]) -> Iterable[Finding]:
    """Findings about each pool with `computeDomain` or claims with `nvlink`. Machines without a
    catalogue row are not known: a claim over one machine gets a warning, others no finding."""
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
    """Machine type -> its interconnect, for types in the catalogue."""
    rows = [machine.instance for machine in pool.machines if machine.instance is not None]
    return {row.name: row.accelerator.interconnect or "PCIe" for row in rows}


def _validate_domain(pool: Pool, path: str) -> Iterator[Finding]:
    made, links = pool.partition.dra, _links(pool)
    if made is not None and not made.namespaces:
        yield _finding("dra-compute-domain-nowhere", path)
    if links and not any(_DOMAIN in link for link in links.values()):
        name, link = next(iter(links.items()))
        yield _finding(
            "dra-compute-domain-alone", path, pool=pool.name, name=name, link=link, machines=links
        )


def _validate_reach(pool: Pool, path: str) -> Iterator[Finding]:
    for name, link in _links(pool).items():
        if _DOMAIN not in link:
            yield _finding("dra-claim-unmet", path, machine=name, limit=link, value="domain")


def _validate_machine(pool: Pool, path: str) -> Iterator[Finding]:
    links = _links(pool)
    if not links:
        yield _finding("dra-claim-not-known", path, pool=pool.name)
    for name, link in links.items():
        if not link.startswith(_NVLINK) or link == _MESH:
            yield _finding("dra-claim-unmet/all", path, machine=name, limit=link, value="machine")

"""Address ranges of a cluster's network, as the clusters of every cloud are given them."""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network, ip_network

from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)


def ipv4_network(text: str) -> IPv4Network | None:
    """The range, written with its prefix; None where the text is none."""
    try:
        found = ip_network(text)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) and "/" in text else None


def validate_public_access(cidrs: Sequence[str]) -> Iterator[Finding]:
    """An error for each of `publicAccessCidrs` that is not a range of addresses."""
    for index, cidr in enumerate(cidrs):
        if ipv4_network(cidr) is None:
            yield _finding("cluster-network", f"publicAccessCidrs[{index}]", found=cidr)

"""Shared parts of clusters of every cloud: arguments from a file, address ranges, kubeconfig."""

import json
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Network, ip_network
from pathlib import Path

from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)
_FILE = Path(__file__).with_name("kubeconfig")


def ipv4_network(text: str) -> IPv4Network | None:
    """The range, written with its prefix; None if the text is not one."""
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


def kubeconfig_text(
    cluster: str,
    address: str,
    authority: str,
    command: str,
    *,
    arguments: Sequence[str] | None = None,
    cluster_info: bool | None = None,
) -> str:
    """A kubeconfig without secrets: a command of the cloud gives the program's user a token."""
    who = {"cluster": cluster, "address": address, "authority": authority, "command": command}
    how = {"arguments": arguments, "cluster_info": cluster_info}
    return json.dumps(data_part(_FILE, "kubeconfig", **who, **how))

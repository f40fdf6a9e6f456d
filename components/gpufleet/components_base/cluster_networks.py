"""Shared parts of clusters of every cloud: arguments from a file, address ranges, kubeconfig."""

import json
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, ip_network

from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)


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
    cluster: str, address: str, authority: str, command: Mapping[str, object]
) -> str:
    """A kubeconfig without secrets: a command of the cloud gives the program's user a token."""
    called = {"apiVersion": "client.authentication.k8s.io/v1beta1", **command}
    user = {"exec": {**called, "interactiveMode": "Never"}}
    server = {"server": address, "certificate-authority-data": authority}
    context = {"cluster": cluster, "user": cluster}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": cluster, "user": user}],
            "contexts": [{"name": cluster, "context": context}],
            "current-context": cluster,
        }
    )

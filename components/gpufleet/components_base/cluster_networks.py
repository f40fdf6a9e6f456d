"""Shared parts of clusters of every cloud: arguments from a file, address ranges, kubeconfig."""

import json
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Network, ip_network
from pathlib import Path
from string import Template
from typing import Any

from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import is_list, is_mapping, mapping
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


def file_arguments(file: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the resources of a cluster by kind, from a YAML file in which `$name` is a known
    value."""
    return mapping(_filled(read_go(file.read_text(encoding="utf-8")).data, known))


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    if is_mapping(value):
        return {key: _filled(item, known) for key, item in value.items()}
    if is_list(value):
        return [_filled(item, known) for item in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    return known[value[1:]] if value[1:] in known else Template(value).substitute(known)

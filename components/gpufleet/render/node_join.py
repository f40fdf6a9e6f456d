"""First-boot data that makes a machine join its cluster: kubeadm, RKE2 or k3s, as cloud-init.

Each script is data: it registers the node with its labels and taints from birth, and says at its
end that it is done. The token is part of the text: treat the whole as a secret.

Formats read 2026-11-21: kubeadm `JoinConfiguration` v1beta4; RKE2 and k3s agent configuration
files; cloud-init `write_files` and `runcmd`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gpufleet.fleet.model import NodeTaint
from gpufleet.render.yaml_text import yaml_text

DONE = "vmtoolsd --cmd 'info-set guestinfo.gpufleet.join done' || true"
"""The last step: what a person looking at the machine in vCenter sees."""


class JoinMethod(StrEnum):
    """What the template was built for."""

    KUBEADM = "kubeadm"
    RKE2 = "rke2"
    K3S = "k3s"


@dataclass(frozen=True, slots=True)
class Join:
    """How to reach the cluster."""

    method: JoinMethod
    endpoint: str
    """kubeadm `host:6443`; RKE2 `https://host:9345`; k3s `https://host:6443`."""
    token: str = field(repr=False)
    """Secret. Use one that expires."""
    ca_cert_hashes: tuple[str, ...] = ()
    """kubeadm: `sha256:…` of the cluster's authority; needed there."""


def join_user_data(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> str:
    """cloud-config that joins the node.

    Raises:
        ValueError: kubeadm without the hash of the cluster's authority: the node could be made to
            join a stranger's cluster.
    """
    if join.method is JoinMethod.KUBEADM:
        if not join.ca_cert_hashes:
            raise ValueError(
                "kubeadm needs caCertHashes, `sha256:` and 64 hexadecimal digits: without them the "
                "node cannot tell its cluster from another"
            )
        files, command = _kubeadm(join, labels, taints, node_name)
    else:
        files, command = _rancher(join, labels, taints, node_name)
    document = {"write_files": files, "runcmd": [command, DONE]}
    return "#cloud-config\n" + yaml_text(document)


def _file(path: str, content: Mapping[str, Any]) -> dict[str, str]:
    text = yaml_text(content)
    return {"path": path, "permissions": "0600", "content": text}


def _kubeadm(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> tuple[list[dict[str, str]], str]:
    path = "/etc/kubernetes/gpufleet-join.yaml"
    configuration = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {
                "apiServerEndpoint": join.endpoint,
                "token": join.token,
                "caCertHashes": list(join.ca_cert_hashes),
            }
        },
        "nodeRegistration": {
            "name": node_name,
            "kubeletExtraArgs": [{"name": "node-labels", "value": _joined(labels)}],
            "taints": [
                {"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in taints
            ],
        },
    }
    return [_file(path, configuration)], f"kubeadm join --config {path}"


def _rancher(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> tuple[list[dict[str, str]], str]:
    name = join.method.value
    configuration = {
        "server": join.endpoint,
        "token": join.token,
        "node-name": node_name,
        "node-label": [f"{key}={value}" for key, value in sorted(labels.items())],
        "node-taint": [f"{taint.key}={taint.value}:{taint.effect}" for taint in taints],
    }
    unit = "rke2-agent" if join.method is JoinMethod.RKE2 else "k3s-agent"
    return (
        [_file(f"/etc/rancher/{name}/config.yaml", configuration)],
        f"systemctl enable --now {unit}.service",
    )


def _joined(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))

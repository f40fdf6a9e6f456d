"""User data of EKS nodes, which a machine reads at its first start.

EKS merges its own part into that of images that it publishes; a node of any other image joins only
by this text. Formats: awslabs/amazon-eks-ami 81fec2e `nodeadm` (NodeConfig), Bottlerocket's
settings (TOML), EKS user guide `nodes/launch-templates` (MIME parts for Amazon Linux).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from ipaddress import ip_network
from pathlib import Path

from gpufleet.documents.data_files import data_part
from gpufleet.documents.writing import yaml_text
from gpufleet.fleet.kubelet import kubelet_arguments, kubelet_configuration
from gpufleet.fleet.model import NodeTaint, Pool
from gpufleet.platforms.eks.bottlerocket import (
    KUBERNETES,
    bottlerocket_settings,
    image_settings,
    kubelet_settings,
)
from gpufleet.platforms.eks.mig_start import start_labels
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.spec.platforms.eks import LocalStorage

_NODES = Path(__file__).with_name("nodes")
BOUNDARY = "gpufleet"
IPV6 = 6
"""Version of the Internet protocol."""


@dataclass(frozen=True, slots=True)
class ClusterEndpoint:
    """Address of a node's cluster: needed only if EKS does not provide it."""

    name: str
    endpoint: str
    certificate_authority: str
    """Base64, the form of `aws:eks/cluster`."""
    service_cidr: str
    """Address range of services, IPv4 or IPv6: `172.20.0.0/16`, `fd12:3456:789a::/108`."""

    @property
    def dns_address(self) -> str:
        """Address of the cluster's DNS server: the tenth of the services' range."""
        return str(ip_network(self.service_cidr)[10])

    @property
    def ipv6(self) -> bool:
        """Whether pods and services have IPv6 addresses."""
        return ip_network(self.service_cidr).version == IPV6


def user_data(
    pool: Pool, shape: EksShape, labels: Mapping[str, str], access: ClusterEndpoint | None
) -> str | None:
    """The text, before Base64; None if EKS's own part is enough.

    `access` must be given for a custom image. Raises ValueError without it.
    """
    if shape.custom and access is None:
        raise ValueError(
            f"nodes of {pool.name} join by user data, which needs the cluster's access"
        )
    raid = shape.nvme and shape.options.local_storage is LocalStorage.RAID0
    family = image_family(pool)
    start = start_labels(pool, labels)
    labels = {**labels, **start} if shape.custom else start
    if family == "bottlerocket":
        given = access if shape.custom else None
        return _bottlerocket(given, labels, pool, raid=raid)
    if family == "al2023":
        config = _node_config(access if shape.custom else None, labels, pool, raid=raid)
        return None if config is None else _mime("application/node.eks.aws", config)
    if shape.custom and access is not None:
        return _bootstrap(access, labels, pool, family)
    return None


_OF_CLUSTER = re.compile(
    r"^(    (?:name|apiServerEndpoint|certificateAuthority|cidr): "
    r"|(?:cluster-name|api-server|cluster-certificate|cluster-dns-ip) = |/etc/eks/bootstrap\.sh "
    r"|  --(?:apiserver-endpoint|b64-cluster-ca|dns-cluster-ip) ).*\n"
    r"|^  --ip-family ipv6 .*\n",
    re.MULTILINE,
)


def without_cluster(text: str) -> str:
    """User data without the lines with the cluster's address, which no declaration contains."""
    return _OF_CLUSTER.sub("", text)


def image_family(pool: Pool) -> str:
    """`al2023`, `bottlerocket`, `al2` or `ubuntu`: the prefix of the image's key."""
    return "al2023" if pool.image is None else pool.image.key.split("-", 1)[0]


def joins_disks(pool: Pool) -> bool:
    """Whether the image has a setting that joins its local disks to one volume."""
    return image_family(pool) in {"al2023", "bottlerocket"}


def _node_config(
    access: ClusterEndpoint | None,
    labels: Mapping[str, str],
    pool: Pool,
    *,
    raid: bool,
) -> str | None:
    # nodeadm appends these to the flags of EKS's own part (`nodeadm/internal/api/merge.go`).
    flags = [f"--node-labels={_labels(labels)}"] if labels else []
    if access is not None and pool.taints:
        flags.append(f"--register-with-taints={_taints(pool.taints)}")
    names = (field.name for field in fields(ClusterEndpoint))
    made = data_part(
        _NODES,
        "nodeConfig",
        **dict.fromkeys(names) if access is None else asdict(access),
        kubelet=flags or kubelet_configuration(pool),
        flags=flags or None,
        configuration=kubelet_configuration(pool) or None,
        fast=pool.spec.eks is not None and pool.spec.eks.fast_image_pull,
        raid=raid,
    )
    return yaml_text(made) if made["spec"] else None


def _bottlerocket(
    access: ClusterEndpoint | None,
    labels: Mapping[str, str],
    pool: Pool,
    *,
    raid: bool,
) -> str | None:
    lines: list[str] = []
    settings = image_settings(pool) if access is None else bottlerocket_settings(pool)
    if access is not None:
        lines += [
            KUBERNETES,
            f"cluster-name = {json.dumps(access.name)}",
            f"api-server = {json.dumps(access.endpoint)}",
            f"cluster-certificate = {json.dumps(access.certificate_authority)}",
            f"cluster-dns-ip = {json.dumps(access.dns_address)}",
            *kubelet_settings(pool),
            "",
            "[settings.kubernetes.node-labels]",
            *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in labels.items()),
        ]
        if pool.taints:
            lines += ["", "[settings.kubernetes.node-taints]"]
            by_key: dict[str, list[str]] = {}
            for taint in pool.taints:
                by_key.setdefault(taint.key, []).append(f"{taint.value}:{taint.effect}")
            lines += [f"{json.dumps(key)} = {json.dumps(values)}" for key, values in by_key.items()]
    if settings:
        lines += [*([""] if lines else []), *settings]
    if raid:
        lines += [*([""] if lines else []), *data_part(_NODES, "ephemeralStorage").splitlines()]
    return "\n".join(lines) + "\n" if lines else None


def _bootstrap(access: ClusterEndpoint, labels: Mapping[str, str], pool: Pool, family: str) -> str:
    """The script of Canonical's EKS images and of Amazon Linux 2.

    With the address and the certificate of the cluster as arguments, the script does not call EKS.
    It then also needs the DNS server's address: otherwise it derives one from the machine's network
    and assumes IPv4.
    """
    flags = [f"--node-labels={_labels(labels)}"]
    if pool.taints:
        flags.append(f"--register-with-taints={_taints(pool.taints)}")
    flags += [f"--{name}={value}" for name, value in kubelet_arguments(pool).items()]
    ranges = f"  --ip-family ipv6 --service-ipv6-cidr {_quoted(access.service_cidr)} \\\n"
    script = data_part(
        _NODES,
        "bootstrap",
        name=_quoted(access.name),
        endpoint=_quoted(access.endpoint),
        authority=_quoted(access.certificate_authority),
        dns=_quoted(access.dns_address),
        family=ranges if access.ipv6 else "",
        arguments=_quoted(" ".join(flags)),
    )
    return _mime("text/x-shellscript", script) if family == "al2" else script


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _taints(taints: tuple[NodeTaint, ...]) -> str:
    return ",".join(f"{taint.key}={taint.value}:{taint.effect}" for taint in taints)


def node_config_part(pool: Pool) -> str | None:
    """User data with only the kubelet's settings, for provisioners that write the rest."""
    config = _node_config(None, {}, pool, raid=False)
    return None if config is None else _mime("application/node.eks.aws", config)


def _mime(kind: str, text: str) -> str:
    return (
        f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{BOUNDARY}"\n\n'
        f"--{BOUNDARY}\nContent-Type: {kind}\n\n{text}\n--{BOUNDARY}--\n"
    )

"""First-boot data that makes a machine join its cluster: as cloud-init, or as Ignition.

Each script registers the node with its labels and taints, and reports completion at its end.
The text contains the token: treat all of it as a secret.

Formats read 2026-11-21: kubeadm `JoinConfiguration` v1beta4; RKE2 and k3s agent configuration
files; cloud-init `write_files` and `runcmd`. Red Hat CoreOS, read 2026-11-22: its kubelet comes
from the cluster's machine config server, and more labels from `/etc/kubernetes/kubelet-env`
(openshift/machine-config-operator, openshift-assisted/cluster-api-provider-openshift-assisted).
Ignition, for Red Hat CoreOS, Fedora CoreOS and Flatcar: specification 3.4.0 (coreos/ignition, its
page configuration-v3_4, read 2026-11-22), which OpenShift 4.14 and later, Fedora CoreOS 38 and
Flatcar 3602 read. Contents are data URLs (RFC 2397), so that only named addresses are fetched.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import pulumi

from gpufleet.documents.writing import yaml_text
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet import Pool
from gpufleet.fleet.kubelet import kubelet_arguments
from gpufleet.fleet.model import NodeTaint
from gpufleet.platforms.vsphere.machine_arguments import PoolMachine, node_labels
from gpufleet.render.data_files import data_part

_finding, _rules = findings_in(__file__), rules_in(__file__)

TEXTS = str(Path(__file__).parent / "join")
PRIVATE = 0o600


def data_url(text: str) -> str:
    """A text as a data URL."""
    encoded = base64.b64encode(text.encode()).decode()
    return f"data:text/plain;charset=utf-8;base64,{encoded}"


def ignition_file(path: str, content: str, mode: int = PRIVATE) -> dict[str, Any]:
    """A file that exists before any unit starts."""
    return data_part(TEXTS, "file", path=path, mode=mode, source=data_url(content))


def ignition(
    files: Sequence[Mapping[str, Any]] = (),
    units: Mapping[str, str] | None = None,
    *,
    merged: str | None = None,
    authority: str | None = None,
) -> str:
    """The configuration as JSON, the same bytes for the same arguments.

    Args:
        files: Files.
        units: Name of each systemd unit that is started at boot -> its text.
        merged: Address of a configuration that is fetched and merged below this one.
        authority: PEM certificate that authenticates that address.
    """
    started = (units or {}).items()
    document = data_part(
        TEXTS,
        "ignition",
        merged=merged,
        authority=authority and data_url(authority),
        files=files,
        units=[{"name": name, "enabled": True, "contents": text} for name, text in started],
    )
    return json.dumps(document, sort_keys=True)


DONE = "vmtoolsd --cmd 'info-set guestinfo.gpufleet.join done'"
"""The last step, only after a successful join: the signal of `waitFor: joined`, which an operator
can also see in vCenter."""


JOINED_MARK = "/var/lib/gpufleet-joined"
"""File that marks this machine as joined: it does not join again after a reboot."""


POOL_ARGUMENTS = frozenset(("node-labels", "register-with-taints", "node-name", "kubeconfig"))
"""Arguments of the kubelet that follow from the pool, the machine or the join method."""


class JoinMethod(StrEnum):
    """The software in the template."""

    KUBEADM = "kubeadm"
    RKE2 = "rke2"
    K3S = "k3s"
    OPENSHIFT = "openshift"
    """Red Hat CoreOS and the machine config server of a cluster: Ignition only, no taints."""


@dataclass(frozen=True, slots=True)
class Join:
    """Address and credentials of the cluster."""

    method: JoinMethod
    endpoint: str
    """kubeadm `host:6443`; RKE2 `https://host:9345`; k3s `https://host:6443`; OpenShift
    `https://api-int.<cluster>:22623/config/<machine config pool>`."""
    token: str = field(default="", repr=False)
    """Secret. Use one that expires. OpenShift has none."""
    ca_cert_hashes: tuple[str, ...] = ()
    """kubeadm: `sha256:…` of the cluster's authority; needed there."""
    authority: str | None = None
    """OpenShift: PEM certificate of the machine config server's authority; needed there."""
    kubelet_arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name without hyphens -> value; not on OpenShift."""


def join_user_data(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> str:
    """cloud-config that joins the node.

    Raises:
        ValueError: kubeadm without the hash of the cluster's authority: the node could be made to
            join a foreign cluster. OpenShift, whose nodes read Ignition.
    """
    if join.method is JoinMethod.OPENSHIFT:
        raise ValueError("Red Hat CoreOS reads Ignition and no cloud-config")
    files, command = _joining(join, labels, taints, node_name)
    document = {"write_files": files, "runcmd": [f"{command} && {DONE}"]}
    return "#cloud-config\n" + yaml_text(document)


def join_ignition(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> str:
    """Ignition that names the node and joins it.

    Raises:
        ValueError: kubeadm without the hash of the cluster's authority, OpenShift without its
            certificate; OpenShift with taints, which only its kubelet configuration can set.
    """
    named = ignition_file("/etc/hostname", node_name + "\n", 0o644)
    if join.method is JoinMethod.OPENSHIFT:
        return _from_machine_config_server(join, labels, taints, named)
    files, command = _joining(join, labels, taints, node_name)
    written = [ignition_file(file["path"], file["content"]) for file in files]
    return ignition([named, *written], {"gpufleet-join.service": _unit("join", command)})


def _joining(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> tuple[list[dict[str, str]], str]:
    if join.method is not JoinMethod.KUBEADM:
        return _rancher(join, labels, taints, node_name)
    if not join.ca_cert_hashes:
        raise ValueError(
            "kubeadm needs caCertHashes, `sha256:` and 64 hexadecimal digits: without them the "
            "node cannot tell its cluster from another"
        )
    return _kubeadm(join, labels, taints, node_name)


def _from_machine_config_server(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], named: Mapping[str, Any]
) -> str:
    if not join.authority:
        raise ValueError(
            "OpenShift needs caCertificate: without it the node cannot tell its cluster from "
            "another"
        )
    if taints:
        keys = ", ".join(taint.key for taint in taints)
        raise ValueError(
            f"first-boot data cannot taint a node of OpenShift ({keys}): its kubelet is configured "
            "by the cluster"
        )
    labelled = f"CUSTOM_KUBELET_LABELS={_joined(labels)}\n"
    environment = ignition_file("/etc/kubernetes/kubelet-env", labelled, 0o644)
    return ignition(
        [named, environment],
        {"gpufleet-joined.service": _unit("joined")},
        merged=join.endpoint,
        authority=join.authority,
    )


def _unit(name: str, command: str = "") -> str:
    return data_part(TEXTS, name, command=command, mark=JOINED_MARK, done=DONE)


def _file(path: str, content: Mapping[str, Any]) -> dict[str, str]:
    text = yaml_text(content)
    return {"path": path, "permissions": "0600", "content": text}


def _kubeadm(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> tuple[list[dict[str, str]], str]:
    path = "/etc/kubernetes/gpufleet-join.yaml"
    arguments = (("node-labels", _joined(labels)), *sorted(join.kubelet_arguments.items()))
    configuration = data_part(
        TEXTS,
        "kubeadm",
        endpoint=join.endpoint,
        token=join.token,
        hashes=list(join.ca_cert_hashes),
        name=node_name,
        arguments=[{"name": name, "value": value} for name, value in arguments],
        taints=[{"key": one.key, "value": one.value, "effect": one.effect} for one in taints],
    )
    return [_file(path, configuration)], f"kubeadm join --config {path}"


def _rancher(
    join: Join, labels: Mapping[str, str], taints: Sequence[NodeTaint], node_name: str
) -> tuple[list[dict[str, str]], str]:
    configuration = data_part(
        TEXTS,
        "rancher",
        endpoint=join.endpoint,
        token=join.token,
        name=node_name,
        labels=_pairs(labels),
        taints=[f"{taint.key}={taint.value}:{taint.effect}" for taint in taints],
        arguments=_pairs(join.kubelet_arguments) or None,
    )
    unit = "rke2-agent" if join.method is JoinMethod.RKE2 else "k3s-agent"
    return (
        [_file(f"/etc/rancher/{join.method.value}/config.yaml", configuration)],
        f"systemctl enable --now {unit}.service",
    )


def _joined(labels: Mapping[str, str]) -> str:
    return ",".join(_pairs(labels))


def _pairs(values: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in sorted(values.items())]


# First-boot data of a machine of a pool: given unchanged, or written so that it joins its cluster.

CLOUD_INIT, IGNITION = "cloudInit", "ignition"
"""Formats of first-boot data."""


def validate_first_boot(connection: Mapping[str, Any], pool: Pool) -> Iterator[Finding]:
    """Errors in `join` and `userData` of a connection, before any resource is created."""
    join, names = connection.get("join"), sorted(kubelet_arguments(pool))
    chosen = connection.get("userDataFormat", CLOUD_INIT)
    known = {"connection": connection, "chosen": chosen, "join": join, "names": names}
    methods = [method.value for method in JoinMethod]
    yield from _rules("first-boot", pool.path, pool=pool, methods=methods, **known)
    if join is None or join["method"] not in methods:
        return
    given: Mapping[str, Any] = join.get("kubeletArguments") or {}
    where = "connection.join.kubeletArguments"
    if taken := sorted(POOL_ARGUMENTS & given.keys()):
        yield _finding("vsphere-kubelet-arguments-taken", where, taken=taken)
    if dashed := sorted(name for name in given if name.startswith("-")):
        yield _finding("vsphere-kubelet-arguments-dashed", where, dashed=dashed)
    if twice := sorted(given.keys() & set(names)):
        yield _finding("vsphere-kubelet-arguments-taken/pool", value=twice)


def first_boot(pool: Pool, connection: Mapping[str, Any], machine: PoolMachine) -> dict[str, Any]:
    """Inputs of one machine's first boot; none if the template contains the join configuration.

    Args:
        pool: The pool, whose labels and taints the node registers with.
        connection: A connection without errors by `validate_first_boot`.
        machine: The machine: its node has the same name.
    """
    join, user_data = connection.get("join"), connection.get("userData")
    vendor = {key: connection[key] for key in ("vendorData",) if connection.get(key) is not None}
    chosen = connection.get("userDataFormat", CLOUD_INIT)
    if user_data is not None:
        return {**vendor, "userData": user_data, "userDataFormat": chosen}
    if join is None:
        return vendor

    arguments: dict[str, str] = {**kubelet_arguments(pool), **(join.get("kubeletArguments") or {})}

    def text(known: dict[str, Any]) -> str:
        way = Join(
            JoinMethod(join["method"]),
            known["endpoint"],
            known["token"],
            tuple(known["hashes"]),
            known["authority"],
            arguments,
        )
        written = join_ignition if chosen == IGNITION else join_user_data
        return written(way, node_labels(pool, machine.position), pool.taints, machine.name)

    made = pulumi.Output.all(
        endpoint=join["endpoint"],
        token=join.get("token", ""),
        hashes=join.get("caCertHashes", []),
        authority=join.get("caCertificate"),
    ).apply(text)
    other = {} if chosen == CLOUD_INIT else {"userDataFormat": chosen}
    boot = {"bootSha256": _what_stays(pool, join["method"], machine, arguments)}
    return {**vendor, "userData": pulumi.Output.secret(made), **boot, **other}


def _what_stays(pool: Pool, method: str, machine: PoolMachine, arguments: Mapping[str, str]) -> str:
    """Digest of the lasting parts of first-boot data: the join method, labels and taints, and the
    arguments of the kubelet. Not the cluster's address and token: tokens expire, and a node that
    has joined needs none."""
    taints = [[taint.key, taint.value, taint.effect] for taint in pool.taints]
    parts: list[Any] = [method, node_labels(pool, machine.position), taints]
    text = json.dumps([*parts, *([dict(arguments)] if arguments else [])], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

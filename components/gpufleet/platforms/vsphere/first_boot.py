"""First-boot data of a machine: given unchanged, or written so that it joins its cluster."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet import Pool
from gpufleet.fleet.kubelet import kubelet_arguments
from gpufleet.platforms.vsphere.machine_arguments import PoolMachine, node_labels
from gpufleet.platforms.vsphere.node_join import (
    POOL_ARGUMENTS,
    Join,
    JoinMethod,
    join_ignition,
    join_user_data,
)

_finding = findings_in(__file__)

CLOUD_INIT, IGNITION = "cloudInit", "ignition"
"""Formats of first-boot data."""


def validate_first_boot(connection: Mapping[str, Any], pool: Pool) -> Iterator[Finding]:
    """Errors in `join` and `userData` of a connection, before any resource is created."""
    chosen = connection.get("userDataFormat", CLOUD_INIT)
    if chosen not in (CLOUD_INIT, IGNITION):
        yield _finding(
            "vsphere-user-data-format-unknown",
            found=chosen,
            cloud_init=CLOUD_INIT,
            ignition=IGNITION,
        )
    if connection.get("vendorData") is not None and chosen == IGNITION:
        yield _finding("vsphere-vendor-data-unread")
    join = connection.get("join")
    if join is None:
        yield from _unread(pool)
        return
    if connection.get("userData") is not None:
        yield _finding("vsphere-join-and-user-data")
    methods = [method.value for method in JoinMethod]
    if join["method"] not in methods:
        yield _finding("vsphere-join-method-unknown", method=join["method"], methods=methods)
        return
    method = JoinMethod(join["method"])
    yield from _kubelet_arguments(join.get("kubeletArguments") or {}, method)
    yield from _managers(join.get("kubeletArguments") or {}, method, pool)
    if method is JoinMethod.KUBEADM and not join.get("caCertHashes"):
        yield _finding("vsphere-join-without-authority")
    if method is JoinMethod.OPENSHIFT:
        yield from _openshift(join, chosen, pool)
    elif join.get("token") is None:
        yield _finding("vsphere-join-without-token", method=method.value)


def _unread(pool: Pool) -> Iterator[Finding]:
    """`kubelet` of a pool whose nodes join by data or a template that gpufleet does not write."""
    if kubelet_arguments(pool):
        yield _finding(
            "kubelet-setting-not-here",
            pool.path,
            value=sorted(kubelet_arguments(pool)),
            limit="connection.join",
        )


def _kubelet_arguments(given: Mapping[str, Any], method: JoinMethod) -> Iterator[Finding]:
    where = "connection.join.kubeletArguments"
    if given and method is JoinMethod.OPENSHIFT:
        yield _finding("vsphere-kubelet-arguments-unused", where)
    if taken := sorted(POOL_ARGUMENTS & given.keys()):
        yield _finding("vsphere-kubelet-arguments-taken", where, taken=taken)
    if dashed := sorted(name for name in given if name.startswith("-")):
        yield _finding("vsphere-kubelet-arguments-dashed", where, dashed=dashed)


def _managers(given: Mapping[str, Any], method: JoinMethod, pool: Pool) -> Iterator[Finding]:
    """`kubelet` of the pool if first-boot data cannot set it, or if it is set twice."""
    declared = kubelet_arguments(pool)
    if declared and method is JoinMethod.OPENSHIFT:
        yield _finding(
            "kubelet-setting-not-here/openshift",
            pool.path,
            value=sorted(declared),
            limit=method.value,
        )
    if "reserved-memory" in declared and method in (JoinMethod.RKE2, JoinMethod.K3S):
        yield _finding(
            "kubelet-setting-not-here/memory", pool.path, limit=method.value, value="static"
        )
    if twice := sorted(given.keys() & declared.keys()):
        yield _finding("vsphere-kubelet-arguments-taken/pool", value=twice)


def _openshift(join: Mapping[str, Any], chosen: str, pool: Pool) -> Iterator[Finding]:
    if chosen != IGNITION:
        yield _finding("vsphere-join-needs-ignition", found=chosen, ignition=IGNITION)
    if join.get("caCertificate") is None:
        yield _finding("vsphere-join-without-authority/openshift")
    if pool.taints:
        yield _finding(
            "vsphere-join-openshift-taints", pool.path, taints=[taint.key for taint in pool.taints]
        )


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

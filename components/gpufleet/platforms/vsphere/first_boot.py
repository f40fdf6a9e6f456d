"""First-boot data of a machine: given unchanged, or written so that it joins its cluster."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pulumi

from gpufleet.findings import Finding, findings_in, rules_in
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

_finding, _rules = findings_in(__file__), rules_in(__file__)

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

"""First-boot data of a machine: given as it is, or written so that it joins its cluster."""

from collections.abc import Mapping
from typing import Any

import pulumi

from gpufleet.findings import Finding, error
from gpufleet.fleet import Pool
from gpufleet.render.node_join import Join, JoinMethod, join_user_data
from gpufleet.render.vsphere_node import node_labels


def judge_first_boot(connection: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with `join` and `userData` of a connection, before anything is made."""
    join, user_data = connection.get("join"), connection.get("userData")
    found: list[Finding] = []
    if join is None:
        return found
    if user_data is not None:
        found.append(
            error(
                "vsphere-join-and-user-data",
                "connection.join",
                "join writes the first-boot data, and userData is that data",
                "give one of them",
            )
        )
    methods = [method.value for method in JoinMethod]
    if join["method"] not in methods:
        found.append(
            error(
                "vsphere-join-method-unknown",
                "connection.join.method",
                f"{join['method']!r} is none of {', '.join(methods)}",
                "write one of them, or give userData",
            )
        )
    if join["method"] == JoinMethod.KUBEADM.value and not join.get("caCertHashes"):
        found.append(
            error(
                "vsphere-join-without-authority",
                "connection.join.caCertHashes",
                "kubeadm needs the hash of the cluster's authority: without it a node cannot "
                "tell its cluster from another",
                "give `sha256:` and 64 hexadecimal digits, as `kubeadm token create "
                "--print-join-command` shows them",
            )
        )
    return found


def first_boot(pool: Pool, connection: Mapping[str, Any], node_name: str) -> dict[str, Any]:
    """Inputs of one machine's first boot; none where the template knows how to join.

    Args:
        pool: The pool, whose labels and taints the node registers with.
        connection: A connection that `judge_first_boot` has nothing against.
        node_name: Name of the Kubernetes node.
    """
    join, user_data = connection.get("join"), connection.get("userData")
    if user_data is not None:
        chosen = connection.get("userDataFormat", "cloudInit")
        return {"userData": user_data, "userDataFormat": chosen}
    if join is None:
        return {}

    def text(known: dict[str, Any]) -> str:
        way = Join(
            JoinMethod(join["method"]), known["endpoint"], known["token"], tuple(known["hashes"])
        )
        return join_user_data(way, node_labels(pool), pool.taints, node_name)

    made = pulumi.Output.all(
        endpoint=join["endpoint"], token=join["token"], hashes=join.get("caCertHashes", [])
    ).apply(text)
    return {"userData": pulumi.Output.secret(made)}

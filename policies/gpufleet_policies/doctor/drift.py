"""What is there and not declared, and what is declared and not there."""

from collections import defaultdict
from collections.abc import Iterator

from gpufleet.findings import Severity
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL, POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, cause
from gpufleet_policies.doctor.observed import PRODUCT, Node, text

_SOURCE = "docs/fleet-spec.md"
_CHOSEN = (MIG_CONFIG_LABEL, DEVICE_PLUGIN_CONFIG_LABEL)


def _members(patient: Patient) -> Iterator[tuple[Pool, list[Node]]]:
    if patient.fleet is None:
        return
    found: dict[str, list[Node]] = defaultdict(list)
    for node in patient.cluster.nodes.values():
        found[node.labels.get(POOL_LABEL, "")].append(node)
    for pool in patient.fleet.pools:
        yield pool, found[pool.name]


@cause("node-of-no-pool")
def strangers(patient: Patient) -> Iterator[Found]:
    if patient.fleet is None:
        return
    names = {pool.name for pool in patient.fleet.pools}
    nodes = [
        node
        for node in patient.cluster.nodes.values()
        if node.labels.get(POOL_LABEL) not in names
        and (any(node.devices.values()) or node.labels.get("nvidia.com/gpu.present") == "true")
    ]
    if not nodes:
        return
    shown = ", ".join(node.name for node in nodes[:3])
    more = f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""
    product = nodes[0].labels.get(PRODUCT, "GPU")
    yield found_at(
        "nodes",
        Evidence(
            nodes[0].ref,
            f"metadata.labels[{POOL_LABEL}]",
            nodes[0].labels.get(POOL_LABEL, "not there"),
        ),
        gpus=sum((sum(node.devices.values()) for node in nodes)),
        a=len(nodes),
        shown=shown,
        more=more,
        product=product,
    )


@cause("pool-below-minimum")
def below(patient: Patient) -> Iterator[Found]:
    if not patient.cluster.nodes:
        return
    for pool, nodes in _members(patient):
        if len(nodes) >= pool.available_nodes or len(nodes) >= pool.nodes.minimum:
            continue
        missing = pool.nodes.minimum - len(nodes)
        yield found_at(
            f"pool {pool.name}",
            Evidence("Node", f"metadata.labels[{POOL_LABEL}]={pool.name}", f"{len(nodes)} nodes"),
            gpus=missing * pool.gpus_per_node,
            pool=pool,
            a=len(nodes),
        )


@cause("pool-above-maximum")
def beyond(patient: Patient) -> Iterator[Found]:
    for pool, nodes in _members(patient):
        if len(nodes) > pool.nodes.maximum:
            yield found_at(
                f"pool {pool.name}",
                Evidence(
                    "Node", f"metadata.labels[{POOL_LABEL}]={pool.name}", f"{len(nodes)} nodes"
                ),
                pool=pool,
                a=len(nodes),
            )


@cause("node-label-drift")
def labels(patient: Patient) -> Iterator[Found]:
    for pool, nodes in _members(patient):
        before = {} if pool.previous is None else pool.previous.labels
        for node in nodes:
            for key in _CHOSEN:
                wanted = pool.labels.get(key)
                given = node.labels.get(key)
                if wanted is None or given in {wanted, before.get(key)}:
                    continue
                if node.ref in patient.explained:
                    continue
                yield found_at(
                    node,
                    Evidence(node.ref, f"metadata.labels[{key}]", given or "not there"),
                    key=key,
                    a=given or "nothing",
                    pool=pool,
                    wanted=wanted,
                )


@cause("node-taint-missing")
def taints(patient: Patient) -> Iterator[Found]:
    for pool, nodes in _members(patient):
        for node in nodes:
            there = {(text(t.get("key")), text(t.get("effect"))) for t in node.taints}
            missing = [t for t in pool.taints if (t.key, t.effect) not in there]
            if missing:
                one = missing[0]
                yield found_at(
                    node,
                    Evidence(node.ref, "spec.taints", f"{len(there)} entries, none like it"),
                    one=one,
                    pool=pool,
                )


CAUSES = (strangers, below, beyond, labels, taints)

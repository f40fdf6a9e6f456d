"""What is there and not declared, what is declared and not there, and versions of both.

Source of the kubelet's bounds: kubernetes/website, version skew policy.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL, POOL_LABEL
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, found_at, of_nodes
from gpufleet_policies.doctor.observed import PRESENT, PRODUCT, SeenNode, text

_DRIVER = "nvidia.com/cuda.driver-version.full"
KUBELET_SKEW = 3
"""Minor versions that a kubelet may be older than the API server (version skew policy)."""


@of_nodes("node-kubelet-out-of-range")
def _kubelet(patient: Patient, node: SeenNode) -> Sighting | None:
    parts = node.live.kubelet.lstrip("v").split(".")
    if patient.fleet is None or len(parts) < 2 or not parts[1].isdigit():
        return None
    server = patient.fleet.spec.cluster.kubernetes_version
    behind = int(server.split(".")[1]) - int(parts[1])
    if 0 <= behind <= KUBELET_SKEW:
        return None
    case = "newer" if behind < 0 else "older"
    return found_at(node, case=case, server=server, minor=parts[1], most=KUBELET_SKEW)


@cause("node-versions-mixed")
def _mixed(patient: Patient) -> Iterator[Sighting]:
    for pool, nodes in patient.members:
        driver: dict[str, list[SeenNode]] = defaultdict(list)
        kubelet: dict[str, list[SeenNode]] = defaultdict(list)
        for node in nodes:
            driver[node.labels.get(_DRIVER, "")].append(node)
            kubelet[node.live.kubelet].append(node)
        for what, field, found in (
            ("driver", f"metadata.labels[{_DRIVER}]", driver),
            ("kubelet", "status.nodeInfo.kubeletVersion", kubelet),
        ):
            found.pop("", None)
            if len(found) > 1:
                signs = (Sign(on[0].ref, field, v) for v, on in sorted(found.items()))
                shown = "; ".join(f"{v} on {len(on)}" for v, on in sorted(found.items()))
                values: dict[str, Any] = {
                    "pool": pool.name,
                    "what": what,
                    "count": len(found),
                    "found": shown,
                }
                yield found_at(f"pool {pool.name}", *signs, **values)


@cause("node-of-no-pool")
def _strangers(patient: Patient) -> Iterator[Sighting]:
    nodes = [
        node
        for node in patient.cluster.nodes.values()
        if patient.pool(node) is None
        and (any(node.devices.values()) or node.labels.get(PRESENT) == "true")
    ]
    if patient.fleet is None or not nodes:
        return
    shown = ", ".join(node.name for node in nodes[:3])
    yield found_at(
        "nodes",
        Sign(nodes[0].ref, f"metadata.labels[{POOL_LABEL}]", nodes[0].labels[POOL_LABEL]),
        gpus=sum(sum(node.devices.values()) for node in nodes),
        count=len(nodes),
        shown=shown + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else ""),
        product=nodes[0].labels.get(PRODUCT, "GPU"),
    )


def _sized(pool: object, name: str, count: int, gpus: int) -> Sighting:
    sign = Sign("Node", f"metadata.labels[{POOL_LABEL}]={name}", f"{count} nodes")
    return found_at(f"pool {name}", sign, gpus=gpus, pool=pool, count=count)


@cause("pool-below-minimum")
def _below(patient: Patient) -> Iterator[Sighting]:
    for pool, nodes in patient.members if patient.cluster.nodes else ():
        if len(nodes) < min(pool.available_nodes, pool.nodes.minimum):
            missing = (pool.nodes.minimum - len(nodes)) * pool.gpus_per_node
            yield _sized(pool, pool.name, len(nodes), missing)


@cause("pool-above-maximum")
def _above(patient: Patient) -> Iterator[Sighting]:
    for pool, nodes in patient.members:
        if len(nodes) > pool.nodes.maximum:
            yield _sized(pool, pool.name, len(nodes), 0)


@of_nodes("node-label-drift")
def _labels(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    if pool is None:
        return None
    before: Mapping[str, str] = {} if pool.previous is None else pool.previous.labels
    for key in (MIG_CONFIG_LABEL, DEVICE_PLUGIN_CONFIG_LABEL):
        wanted, given = pool.labels.get(key), node.labels.get(key)
        if wanted is not None and given not in {wanted, before.get(key)}:
            return found_at(node, key=key, given=given or "nothing", pool=pool, wanted=wanted)
    return None


@of_nodes("node-taint-missing")
def _taints(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    there = {(text(t.get("key")), text(t.get("effect"))) for t in node.taints}
    for one in () if pool is None else pool.taints:
        if (one.key, one.effect) not in there:
            return found_at(node, one=one, pool=pool, count=len(there))
    return None

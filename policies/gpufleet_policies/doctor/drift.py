"""Objects that exist and are not declared, the reverse, and versions of both.

Source of the kubelet's bounds: kubernetes/website, version skew policy.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL, POOL_LABEL
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, of_nodes
from gpufleet_policies.doctor.observed import PRODUCT, SeenNode, few, text
from gpufleet_policies.readers.scheduling import PRESENT

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
    return Sighting(node, case=case, server=server, minor=parts[1], most=KUBELET_SKEW)


@cause("node-versions-mixed")
def _mixed(patient: Patient) -> Iterator[Sighting]:
    for pool, nodes in patient.members:
        for what, field, said in (
            ("driver", f"metadata.labels[{_DRIVER}]", [n.labels.get(_DRIVER, "") for n in nodes]),
            ("kubelet", "status.nodeInfo.kubeletVersion", [n.live.kubelet for n in nodes]),
        ):
            counts = Counter(filter(None, said))
            if len(counts) > 1:
                signs = (Sign(nodes[said.index(one)].ref, field, one) for one in sorted(counts))
                found = "; ".join(f"{one} on {counts[one]}" for one in sorted(counts))
                at, count = f"pool {pool.name}", len(counts)
                yield Sighting(at, *signs, pool=pool.name, what=what, count=count, found=found)


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
    place = f"metadata.labels[{POOL_LABEL}]"
    yield Sighting(
        "nodes",
        Sign(nodes[0].ref, place, nodes[0].labels[POOL_LABEL]),
        gpus=sum(sum(node.devices.values()) for node in nodes),
        count=len(nodes),
        shown=few([node.name for node in nodes]),
        product=nodes[0].labels.get(PRODUCT, "GPU"),
    )


@cause("pool-below-minimum")
def _below(patient: Patient) -> Iterator[Sighting]:
    for pool, nodes in patient.members if patient.cluster.nodes else ():
        count, least = len(nodes), pool.nodes.minimum
        if count < min(pool.available_nodes, least):
            missing = (least - count) * pool.gpus_per_node
            yield Sighting(f"pool {pool.name}", gpus=missing, pool=pool, count=count)


@cause("pool-above-maximum")
def _above(patient: Patient) -> Iterator[Sighting]:
    for pool, nodes in patient.members:
        if len(nodes) > pool.nodes.maximum:
            yield Sighting(f"pool {pool.name}", pool=pool, count=len(nodes))


@of_nodes("node-label-drift")
def _labels(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    if pool is None:
        return None
    before: Mapping[str, str] = {} if pool.previous is None else pool.previous.labels
    for key in (MIG_CONFIG_LABEL, DEVICE_PLUGIN_CONFIG_LABEL):
        wanted, given = pool.labels.get(key), node.labels.get(key)
        if wanted is not None and given not in {wanted, before.get(key)}:
            return Sighting(node, key=key, given=given or "nothing", pool=pool, wanted=wanted)
    return None


@of_nodes("node-taint-missing")
def _taints(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    there = {(text(t.get("key")), text(t.get("effect"))) for t in node.taints}
    for one in () if pool is None else pool.taints:
        if (one.key, one.effect) not in there:
            return Sighting(node, one=one, pool=pool, count=len(there))
    return None

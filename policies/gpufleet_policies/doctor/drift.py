"""What is there and not declared, and what is declared and not there."""

from collections.abc import Iterator, Mapping

from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL, POOL_LABEL
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, found_at, of_nodes
from gpufleet_policies.doctor.observed import PRESENT, PRODUCT, SeenNode, text

_CHOSEN = (MIG_CONFIG_LABEL, DEVICE_PLUGIN_CONFIG_LABEL)


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
    named = nodes[0].labels.get(POOL_LABEL, "not there")
    yield found_at(
        "nodes",
        Sign(nodes[0].ref, f"metadata.labels[{POOL_LABEL}]", named),
        gpus=sum(sum(node.devices.values()) for node in nodes),
        count=len(nodes),
        shown=", ".join(node.name for node in nodes[:3]),
        more=f" and {len(nodes) - 3} more" if len(nodes) > 3 else "",
        product=nodes[0].labels.get(PRODUCT, "GPU"),
    )


def _size(patient: Patient, *, below: bool) -> Iterator[Sighting]:
    for pool, nodes in patient.members if patient.cluster.nodes else ():
        wrong = (
            len(nodes) < min(pool.available_nodes, pool.nodes.minimum)
            if below
            else len(nodes) > pool.nodes.maximum
        )
        if wrong:
            place = f"metadata.labels[{POOL_LABEL}]={pool.name}"
            missing = pool.nodes.minimum - len(nodes)
            yield found_at(
                f"pool {pool.name}",
                Sign("Node", place, f"{len(nodes)} nodes"),
                gpus=missing * pool.gpus_per_node if below else 0,
                pool=pool,
                count=len(nodes),
            )


@cause("pool-below-minimum")
def _below(patient: Patient) -> Iterator[Sighting]:
    yield from _size(patient, below=True)


@cause("pool-above-maximum")
def _above(patient: Patient) -> Iterator[Sighting]:
    yield from _size(patient, below=False)


@of_nodes("node-label-drift")
def _labels(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    previous = None if pool is None else pool.previous
    before: Mapping[str, str] = {} if previous is None else previous.labels
    for key in _CHOSEN if pool is not None else ():
        wanted, given = (None if pool is None else pool.labels.get(key)), node.labels.get(key)
        if wanted is not None and given not in {wanted, before.get(key)}:
            evidence = Sign(node.ref, f"metadata.labels[{key}]", given or "not there")
            given = given or "nothing"
            return found_at(node, evidence, key=key, given=given, pool=pool, wanted=wanted)
    return None


@of_nodes("node-taint-missing")
def _taints(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    there = {(text(t.get("key")), text(t.get("effect"))) for t in node.taints}
    for one in () if pool is None else pool.taints:
        if (one.key, one.effect) not in there:
            evidence = Sign(node.ref, "spec.taints", f"{len(there)} entries, none like it")
            return found_at(node, evidence, one=one, pool=pool)
    return None


CAUSES = (_strangers, _below, _above, _labels, _taints)

"""Finders that are rows: states of a node, words that a program writes, operands that fail."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from gpufleet.change.live_node import STATE_LABEL
from gpufleet.documents.paths import mapping_at
from gpufleet.fleet.config_names import ALL_DISABLED, MIG_CONFIG_LABEL
from gpufleet_policies.doctor.blockers import Answer
from gpufleet_policies.doctor.cause import Finder, Patient, Sighting, Sign
from gpufleet_policies.doctor.devices import supply_of
from gpufleet_policies.doctor.fit import asked_text, blockers
from gpufleet_policies.doctor.observed import NO_IMAGE, Seen, SeenNode, SeenPod, entries, text
from gpufleet_policies.doctor.pending import WhyPending, missing
from gpufleet_policies.doctor.snapshot import Dump, Part, operands

_NEEDED = frozenset({Part.DRIVER, Part.TOOLKIT, Part.PLUGIN, Part.MPS, Part.DRA})
"""Parts without which a node gives no GPU."""


def finder_of(row: Mapping[str, Any]) -> Finder | None:
    """The finder of a cause that its row describes; None: a function finds it.

    `node`: states of which one is enough, each a mapping from a label (prefix @ for an annotation;
    `ready`, `cordoned`, `paused`, `offers`) to a pattern of its value, and its `case`. `words`:
    patterns of words of which one is enough, each with its case. `in`: their place, `pod` (status,
    events), `log` or `owner` (events about objects that are not created); `at`: the object of the
    cause, `pod`, its `node` or the owner. `operand`: the part, `image`: whether its image fails.
    `missing`: the kind of objects that waiting pods name and the dump does not have. `nearest`: the
    filter that excludes the node of the smallest change, `pool`: the condition that prevents a
    NodePool from creating one for pods that no other pool helps, `refused`: a cloud's refusals.
    """
    made = (finder(row) for key, finder in _FINDERS.items() if key in row)
    return next(made, None)


def again(patient: Patient, node: SeenNode) -> str:
    """Commands that make mig-manager act once more."""
    wanted, pool = node.labels.get(MIG_CONFIG_LABEL, ALL_DISABLED), patient.pool(node)
    previous = None if pool is None else pool.previous
    before = None if previous is None else previous.labels.get(MIG_CONFIG_LABEL)
    other = before if before not in {None, wanted} else ALL_DISABLED
    if other == wanted:
        return "restart the mig-manager pod of the node, then set the label again"
    return (
        f"kubectl label node {node.name} --overwrite {MIG_CONFIG_LABEL}={other}, wait for "
        f"{STATE_LABEL}=success, then set it to {wanted} again"
    )


def _state(node: SeenNode, key: str) -> str:
    live, said = node.live, node.annotations if key.startswith("@") else node.labels
    given = {
        "ready": text(node.conditions.get("Ready", {}).get("status")),
        "cordoned": str(live.cordoned).lower(),
        "paused": ", ".join(live.paused),
        "offers": str(sum(node.devices.values())),
    }
    return given.get(key, said.get(key.removeprefix("@"), ""))


def _of_states(row: Mapping[str, Any]) -> Finder:
    def find(patient: Patient) -> Iterator[Sighting]:
        for node in patient.nodes:
            for state in row["node"]:
                when = {key: form for key, form in state.items() if key != "case"}
                if all(re.fullmatch(form, _state(node, key)) for key, form in when.items()):
                    paused = _state(node, "paused")
                    said: dict[str, Any] = {"again": again(patient, node), "paused": paused}
                    yield Sighting(node, case=state.get("case", ""), **said)
                    break

    return find


def _sayings(patient: Patient, where: str) -> Iterator[tuple[SeenPod | Seen, str, str]]:
    """Objects, the field of each text about them, and the words."""
    cluster = patient.cluster
    if where == "owner":
        for (kind, namespace, name), events in cluster.events.items():
            metadata = {"name": name, "namespace": namespace}
            owner = cluster.get(kind, name, namespace) or Seen({"kind": kind, "metadata": metadata})
            for reason, said in events:
                if reason == "FailedCreate":
                    yield owner, f"events[{reason}]", said
        return
    for pod in cluster.pods:
        if where == "log":
            yield pod, "log", cluster.logs.get(pod.name, "")
        else:
            yield from ((pod, place, said) for place, said in cluster.sayings(pod))


def _of_words(row: Mapping[str, Any]) -> Finder:
    forms = [(re.compile(one["form"]), one.get("case", "")) for one in row["words"]]

    def find(patient: Patient) -> Iterator[Sighting]:
        groups: dict[tuple[str, str], list[Sighting]] = {}
        for about, place, said in _sayings(patient, row.get("in", "pod")):
            matched = ((form.search(said), case) for form, case in forms)
            found, case = next((one for one in matched if one[0]), (None, ""))
            node = patient.cluster.nodes.get(about.node) if isinstance(about, SeenPod) else None
            at = node if row.get("at") == "node" else about
            if found is None or at is None or {at.ref, about.ref} & patient.explained:
                continue
            named = found.groupdict("").items()
            values: dict[str, Any] = {key: one.rstrip(".") for key, one in named}
            sign = Sign(about.ref, place, found[0].rstrip(".,"))
            explains = (about.ref if at is not about else f"held:{about.ref}",)
            made = Sighting(at, sign, case=case, explains=explains, **values)
            key = (at.ref, "") if at is node else (getattr(about, "node", "") or at.ref, found[0])
            groups.setdefault(key, []).append(made)
        for found in groups.values():
            first, count = found[0], len({one.at for one in found}) - 1
            first.values["many"] = f" (and {count} pods like it)" if count else ""
            first.explains = tuple(ref for one in found for ref in (one.at, *one.explains))
            first.gpus = sum({one.at: one.gpus for one in found}.values())
            yield first

    return find


def _of_operand(row: Mapping[str, Any]) -> Finder:
    """Pods of a part that do not come up, on nodes where nothing before it fails: one operand waits
    for the one before it."""
    part, image = Part(row["operand"]), row.get("image")

    def find(patient: Patient) -> Iterator[Sighting]:
        for played, pod in operands(patient.cluster):
            trouble, node = pod.trouble, patient.cluster.nodes.get(pod.node)
            if played is not part or trouble is None or f"Node/{pod.node}" in patient.explained:
                continue
            without = trouble.reason in NO_IMAGE
            if image is not None and without is not image:
                continue
            shown = f"{trouble.reason} ({trouble.restarts} restarts)"
            info = {} if node is None else mapping_at(node.status, "nodeInfo")
            yield Sighting(
                pod,
                Sign(pod.ref, trouble.place, shown),
                gpus=0 if node is None or part not in _NEEDED else node.has_gpus,
                explains=(f"Node/{pod.node}",),
                part=part.value,
                images=", ".join(pod.images),
                system=text(info.get("osImage")) or "not known",
                reason="its image cannot be pulled" if without else trouble.reason,
                log=f"kubectl logs -n {pod.namespace} {pod.name} -c {trouble.container} --previous",
            )

    return find


def _of_missing(row: Mapping[str, Any]) -> Finder:
    def find(patient: Patient) -> Iterator[Sighting]:
        for proof in patient.proofs:
            lacks = dict(missing(patient.cluster, proof.pod))
            if row["missing"] in lacks and proof.pod.ref not in patient.explained:
                yield Sighting(proof, name=lacks[row["missing"]])

    return find


def offers(cluster: Dump, node: SeenNode, devices: Iterable[str]) -> bool:
    """Whether a node offers each accelerator; without names, devices for claims."""
    names = list(devices)
    return all(map(node.allocatable.get, names)) if names else node.name in cluster.dra_nodes


def nearest(patient: Patient, proof: WhyPending, kind: str) -> Answer | None:
    """The node with the pod's devices and the smallest change, where this filter is the first
    that it does not pass; None where another cause explains the nodes, or a pool creates one."""
    if proof.before or any(not one.reason for one in proof.pools):
        return None
    cluster, pod = patient.cluster, proof.pod
    well = (
        (one.cost, name, one)
        for one in proof.nodes
        for name in islice((n for n in one.names if f"Node/{n}" not in patient.explained), 1)
        if offers(cluster, cluster.nodes[name], pod.devices)
    )
    _, name, near = min(well, key=lambda one: one[:2], default=(0, "", None))
    if near is not None and near.name != name:  # its texts are about another one
        wrong = blockers(pod, cluster.nodes[name], cluster, {}, supply_of(cluster))
        near = Answer(name, tuple(wrong))
    return near if near is not None and near.first.filter == kind else None


def _of_nearest(row: Mapping[str, Any]) -> Finder:
    def find(patient: Patient) -> Iterator[Sighting]:
        for proof in patient.waiting:
            if (near := nearest(patient, proof, row["nearest"])) is not None:
                yield Sighting(proof, near=near, node=patient.cluster.nodes[near.name])

    return find


def _of_pools(row: Mapping[str, Any]) -> Finder:
    def find(patient: Patient) -> Iterator[Sighting]:
        found: dict[str, list[tuple[Answer, WhyPending]]] = defaultdict(list)
        for proof in patient.waiting:
            for one in proof.pools if all(pool.reason for pool in proof.pools) else ():
                if one.first.filter == row["pool"]:
                    found[one.name].append((one, proof))
        for name, blocked in found.items():
            (why, first), pool = blocked[0], patient.cluster.get("NodePool", name)
            if pool is not None:
                waits = [proof for _, proof in blocked]
                yield Sighting(pool, waiting=waits, why=why, pod=first.pod)

    return find


def machines(patient: Patient) -> Iterator[Seen]:
    """NodeClaims that no cause explains yet."""
    for claim in patient.cluster.all("NodeClaim"):
        if claim.ref not in patient.explained:
            yield claim


def _of_refused(row: Mapping[str, Any]) -> Finder:
    def find(patient: Patient) -> Iterator[Sighting]:
        for claim in machines(patient):
            said = [message for _, message in patient.cluster.events_of(claim)]
            said.append(text(claim.conditions.get("Launched", {}).get("message")))
            found = re.search(row["refused"], " ".join(said))
            if found is not None and not claim.holds("Launched"):
                asked = entries(claim.spec, "requirements")
                kind = [one for one in asked if one.get("key") == "karpenter.sh/capacity-type"]
                ways = "".join(f" ({asked_text(one)})" for one in kind)
                waits = patient.waiting_for(claim)
                yield Sighting(claim, waiting=waits, said=found[0], ways=ways)

    return find


_FINDERS = {
    "node": _of_states,
    "words": _of_words,
    "operand": _of_operand,
    "missing": _of_missing,
    "nearest": _of_nearest,
    "pool": _of_pools,
    "refused": _of_refused,
}
"""Decorator for the finder builder of rows with this key."""

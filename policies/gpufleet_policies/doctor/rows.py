"""Finders that are rows: states of a node, words that a program writes, operands that fail."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpufleet.change.live_node import STATE_LABEL
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.config_names import ALL_DISABLED, MIG_CONFIG_LABEL
from gpufleet_policies.doctor.cause import Finder, Patient, Sighting, Sign, found_at
from gpufleet_policies.doctor.observed import NO_IMAGE, Seen, SeenNode, SeenPod, text
from gpufleet_policies.doctor.operands import Part, operands

_NEEDED = frozenset({Part.DRIVER, Part.TOOLKIT, Part.PLUGIN, Part.MPS, Part.DRA})
"""Parts without which a node gives no GPU."""


def finder_of(row: Mapping[str, Any]) -> Finder | None:
    """What finds the cause of a row that says it itself; None: a function does.

    `node`: states of which one is enough, each a mapping from a label (with @ before it an
    annotation; `ready`, `cordoned`, `paused`, `offers`) to a form of its value, and its `case`.
    `words`: forms of words of which one is enough, each with its case. `in`: where they stand,
    `pod` (status, events), `log` or `owner` (events about what is not made); `at`: where the cause
    is, the `pod`, its `node` or the owner. `operand`: the part, `image`: whether its image is what
    fails.
    """
    for key, make in (("node", _of_states), ("words", _of_words), ("operand", _of_operand)):
        if key in row:
            return make(row)
    return None


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
    match key:
        case "ready":
            return text(node.conditions.get("Ready", {}).get("status"))
        case "cordoned":
            return "true" if node.live.cordoned else "false"
        case "paused":
            return ", ".join(node.live.paused)
        case "offers":
            return str(sum(node.devices.values()))
        case _ if key.startswith("@"):
            return node.annotations.get(key[1:], "")
        case _:
            return node.labels.get(key, "")


def _of_states(row: Mapping[str, Any]) -> Finder:
    def find(patient: Patient) -> Iterator[Sighting]:
        for node in patient.nodes:
            for state in row["node"]:
                when = {key: form for key, form in state.items() if key != "case"}
                if all(re.fullmatch(form, _state(node, key)) for key, form in when.items()):
                    paused = _state(node, "paused")
                    said: dict[str, Any] = {"again": again(patient, node), "paused": paused}
                    yield found_at(node, case=state.get("case", ""), **said)
                    break

    return find


def _sayings(patient: Patient, where: str) -> Iterator[tuple[SeenPod | Seen, str, str]]:
    """Objects, the place of what is said of each, and the words."""
    cluster = patient.cluster
    if where == "owner":
        for (kind, namespace, name), events in cluster.events.items():
            metadata = {"name": name, "namespace": namespace}
            owner = cluster.get(kind, name, namespace) or Seen({"kind": kind, "metadata": metadata})
            for one in events:
                if one.reason == "FailedCreate":
                    yield owner, f"events[{one.reason}]", one.message
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
            made = found_at(at, sign, case=case, explains=explains, **values)
            key = (at.ref, "") if at is node else (getattr(about, "node", "") or at.ref, found[0])
            groups.setdefault(key, []).append(made)
        for first, *others in groups.values():
            count = len({one.at for one in (first, *others)}) - 1
            many = f" (and {count} pods like it)" if count else ""
            explains = [ref for one in (first, *others) for ref in (one.at, *one.explains)]
            gpus = sum({one.at: one.gpus for one in (first, *others)}.values())
            said = {**first.values, "many": many}
            yield Sighting(first.at, first.signs, first.case, said, gpus, tuple(explains))

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
            shown = [
                Sign(pod.ref, trouble.place, f"{trouble.reason} ({trouble.restarts} restarts)")
            ]
            if without:
                info = mapping(None if node is None else node.status.get("nodeInfo"))
                system = text(info.get("osImage")) or "not known"
                images = ", ".join(text(image) for image in items(list(pod.images)))
                shown.append(Sign(pod.ref, "spec.containers[].image", images))
                shown.append(Sign(f"Node/{pod.node}", "status.nodeInfo.osImage", system))
            yield found_at(
                pod,
                *shown,
                gpus=0 if node is None or part not in _NEEDED else node.has_gpus,
                explains=(f"Node/{pod.node}",),
                part=part.value,
                reason="its image cannot be pulled" if without else trouble.reason,
                log=f"kubectl logs -n {pod.namespace} {pod.name} -c {trouble.container} --previous",
            )

    return find

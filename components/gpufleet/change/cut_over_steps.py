"""The cut-over of one node, step by step: the plan, and the next step of a live node.

The next step depends only on the cluster: the node, the ResourceSlices of its DRA driver, and pods
that hold its GPUs. No state is stored, so the program that makes the steps can be stopped and
restarted at any time. Order: cordon, drain, stop the old advertiser, wait until it offers nothing,
change the GPUs, start the new one, wait until it offers all, uncordon.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.change.live_node import LiveNode, objects
from gpufleet.change.live_pods import LivePod
from gpufleet.change.plan import Act, Step, steps_of
from gpufleet.documents.paths import mapping_at
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.cut_over import CutOver, Labels, cut_over, is_cut_over
from gpufleet.fleet.model import Fleet
from gpufleet.partition.dra_offers import DRIVER

_DEVICE = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step of one node."""

    node: str
    act: Act | None
    """None: no step, its cut-over is done."""
    text: str
    labels: Labels
    """Labels to set; None removes one. Empty if no label changes."""

    @property
    def command(self) -> str:
        """The step as a command; empty while it waits, and at the end."""
        if self.act is Act.CORDON:
            return f"kubectl cordon {self.node}"
        if self.act is Act.DRAIN:
            return f"kubectl drain {self.node} --ignore-daemonsets --delete-emptydir-data"
        if self.act is Act.UNCORDON:
            return f"kubectl uncordon {self.node}"
        if self.act is Act.LABEL:
            return f"kubectl label node {self.node} --overwrite {label_arguments(self.labels)}"
        return ""


def label_arguments(labels: Labels) -> str:
    """Arguments of `kubectl label`: `key=value`, and `key-` for a removed label."""
    return " ".join(
        f"{key}-" if value is None else f"{key}={value}" for key, value in labels.items()
    )


def cut_over_steps(cut: CutOver) -> tuple[Step, ...]:
    """All steps of one node, in order."""
    plugin, driver = "the device plugin", "the DRA driver"
    old, new = (plugin, driver) if cut.to_dra else (driver, plugin)
    labels = {"stop": cut.stop, "partition": cut.partition, "start": cut.start}
    written = {name: label_arguments(found) for name, found in labels.items()}
    return steps_of("cutOver", old=old, new=new, to_dra=cut.to_dra, **written)


def next_step(cut: CutOver, node: LiveNode, published: int, holders: int) -> NextStep:
    """The next step of the node. `published`: devices in its ResourceSlices of the newest
    generation; `holders`: pods that hold its GPUs, by a resource or a claim."""
    offered = sum(n for name, n in node.offers.items() if name.startswith(_DEVICE))
    old_gone = offered == 0 if cut.to_dra else published == 0
    new_there = published >= cut.devices if cut.to_dra else _holds(node, cut.new)
    started = _has(node, cut.stop) and _has(node, cut.start)

    def step(act: Act | None, text: str, labels: Labels | None = None) -> NextStep:
        return NextStep(node.name, act, text, labels or {})

    if started and old_gone and new_there:
        if node.cordoned:
            return step(Act.UNCORDON, "the new advertiser offers everything")
        return step(None, "done")
    if not node.cordoned:
        return step(Act.CORDON, "the advertiser of its GPUs changes")
    if not started and holders:
        return step(Act.DRAIN, f"{holders} pods hold its GPUs")
    if not _has(node, cut.stop):
        return step(Act.LABEL, "the old advertiser leaves", cut.stop)
    if not old_gone:
        return step(Act.WAIT, "the old advertiser still offers devices")
    if not started and not _has(node, cut.partition):
        return step(Act.LABEL, "MIG manager changes the GPUs", cut.partition)
    if not started and cut.partition and node.state != "success":
        return step(Act.WAIT, f"nvidia.com/mig.config.state is {node.state or 'not set'}")
    if not started:
        return step(Act.LABEL, "the new advertiser comes", cut.start)
    return step(Act.WAIT, "the new advertiser does not offer everything yet")


def next_steps(
    fleet: Fleet,
    nodes: tuple[LiveNode, ...],
    published: Mapping[str, int],
    holders: Mapping[str, int],
) -> list[NextStep]:
    """The next step of every node of a pool whose cut-over is declared, at most `change.width`
    nodes of a pool at a time: the others wait until those are done."""
    found: list[NextStep] = []
    for pool in fleet.pools:
        if not is_cut_over(pool) or pool.spec.change is None:
            continue
        cut = cut_over(pool)
        members = sorted(
            (node for node in nodes if node.labels.get(POOL_LABEL) == pool.name),
            key=lambda node: node.name,
        )
        steps = [
            next_step(cut, node, published.get(node.name, 0), holders.get(node.name, 0))
            for node in members
        ]
        begun = [
            one
            for one, node in zip(steps, members, strict=True)
            if one.act is not None and (node.cordoned or _has(node, cut.stop))
        ]
        room = pool.spec.change.width - len(begun)
        for one in steps:
            if one.act is None or one in begun:
                found.append(one)
            elif room > 0:
                room -= 1
                found.append(one)
            else:
                found.append(NextStep(one.node, Act.WAIT, "its turn has not come", {}))
    return found


def _has(node: LiveNode, labels: Labels) -> bool:
    return all(node.labels.get(key) == value for key, value in labels.items())


def _holds(node: LiveNode, promised: Mapping[str, int]) -> bool:
    return all(node.offers.get(name, 0) >= count for name, count in promised.items())


# State of a cut-over in a cluster: devices that the DRA driver publishes, pods that hold GPUs.
#
# Read from `kubectl get nodes,pods,resourceslices -A -o json`. ResourceSlices: resource.k8s.io/v1;
# slices of an older generation of their pool do not count (kubernetes/kubernetes
# `staging/src/k8s.io/api/resource/v1/types.go`, ResourcePool).


@dataclass(frozen=True, slots=True)
class CutOverState:
    """By node."""

    published: Mapping[str, int]
    """Devices in its ResourceSlices."""
    holders: Mapping[str, int]
    """Pods that hold its GPUs, by a resource or a claim."""


def read_cut_over_state(document: Mapping[str, Any], pods: Sequence[LivePod]) -> CutOverState:
    """The ResourceSlices of a List, and its pods that hold GPUs.

    Raises ValueError for a ResourceSlice without a readable generation.
    """
    slices: dict[str, Counter[int]] = {}
    for item in objects(document.get("items")):
        spec = mapping_at(item, "spec")
        if (
            item.get("kind") == "ResourceSlice"
            and spec.get("driver") == DRIVER
            and isinstance(spec.get("nodeName"), str)
        ):
            generation = mapping_at(spec, "pool").get("generation", 0)
            if not isinstance(generation, int):
                text = f"generation {generation!r} of a ResourceSlice is not a whole number"
                raise ValueError(text)
            by_generation = slices.setdefault(spec["nodeName"], Counter())
            by_generation[generation] += len(objects(spec.get("devices")))
    published = {node: found[max(found)] for node, found in slices.items()}
    return CutOverState(published, Counter(pod.node for pod in pods if pod.holds))
